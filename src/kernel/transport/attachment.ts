/** Headers under which a file leaves as a download: whatever is in it, a browser saves it and does not run it. */

/** `Content-Disposition` for any file name: plain ASCII for old readers, all of it in UTF-8 for the others (RFC 6266). */
export function attachment(fileName: string): string {
  const name = Buffer.from(fileName).toString(); // half a character has no UTF-8, and becomes a question mark
  const ascii = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}

const MIME_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(; ?charset=[\w-]{1,40})?$/;

/** The type, or that of any bytes when it is none. */
export function safeMimeType(mimeType: string): string {
  return MIME_TYPE.test(mimeType) ? mimeType : 'application/octet-stream';
}
