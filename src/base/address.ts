/** Hosts and ports as they stand in addresses. */

/** An IPv6 address stands in brackets there: its colons would be taken for the one before the port. */
export function hostAndPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** What a server listens on that is to be reached under all addresses of its machine; itself it is none that everybody can open. */
export function isEverywhere(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/** Where somebody on this machine finds a server that listens there. */
export function localUrl(host: string, port: number): string {
  return `http://${hostAndPort(isEverywhere(host) ? 'localhost' : host, port)}`;
}
