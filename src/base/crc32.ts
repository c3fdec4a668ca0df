/** CRC-32 (IEEE 802.3, as in zip and PNG). Finds damage, not tampering. Our own because `zlib.crc32` is missing in early Node 20. */

const TABLE = makeTable();

/** The checksum of `bytes` as a signed 32-bit integer, the form in which SQL keeps it; pass an earlier result to go on from there. */
export function crc32(bytes: Uint8Array, previous = 0): number {
  let crc = ~previous;
  for (let i = 0; i < bytes.length; i++) crc = TABLE[(crc ^ bytes[i]!) & 0xff]! ^ (crc >>> 8);
  return ~crc;
}

/** The same for a text of ASCII characters, which needs no bytes of its own for it. */
export function crc32Ascii(text: string, previous = 0): number {
  let crc = ~previous;
  for (let i = 0; i < text.length; i++) crc = TABLE[(crc ^ text.charCodeAt(i)) & 0xff]! ^ (crc >>> 8);
  return ~crc;
}

function makeTable(): Int32Array {
  const table = new Int32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    table[byte] = crc;
  }
  return table;
}
