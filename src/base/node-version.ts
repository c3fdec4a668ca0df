/** Which versions of Node run this; `engines` of package.json says the same to npm. It imports nothing, so that any version can read it. */

/** One sentence when this version will not do. */
export function nodeRefusal(version: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isTaken = (major === 20 && minor >= 15) || (major === 22 && minor >= 2) || major > 22;
  return isTaken ? null : `Atrium needs Node 20.15 or later (of 22: 22.2; not 21); this is ${major}.${minor}.`;
}
