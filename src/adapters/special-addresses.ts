/**
 * Which IP addresses are those of the public internet: all others name this machine, its network, or nobody in particular, and must not be reached
 * on behalf of whoever names them (the special-purpose registries of IANA).
 */
import { BlockList, isIP } from 'node:net';

const SPECIAL_V4 = [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8],
  ['100.64.0.0', 10], // of carriers
  ['127.0.0.0', 8],
  ['169.254.0.0', 16], // link-local, where clouds keep their credentials
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24], // documentation, as the next but three and the one after
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15], // measurements
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3], // multicast, reserved, broadcast
] as const;
/** Within 2000::/3; all beyond it is special. */
const SPECIAL_V6 = [
  ['2001::', 23], // protocols, Teredo among them, which embeds IPv4
  ['2001:db8::', 32],
  ['2002::', 16], // 6to4, which embeds IPv4
  ['3fff::', 20],
] as const;

const special = new BlockList();
const unicast = new BlockList();
for (const [net, prefix] of SPECIAL_V4) special.addSubnet(net, prefix, 'ipv4');
for (const [net, prefix] of SPECIAL_V6) special.addSubnet(net, prefix, 'ipv6');
unicast.addSubnet('2000::', 3, 'ipv6');

/** An IPv4 address in the form of IPv6 (`::ffff:…`) is none: no resolver gives one, and only a trick names one. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !special.check(address, 'ipv4');
  return family === 6 && unicast.check(address, 'ipv6') && !special.check(address, 'ipv6');
}
