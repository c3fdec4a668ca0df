/**
 * Embeds and the values of formats are JSON in V1, and lib0's encoding of JSON-like values in V2. From the one to the other without making the values: a key that
 * reaches a prototype would be gone with the object.
 */
import { type ByteReader, invalidUpdate } from './byte-reader.ts';

const UNDEFINED = 127;

/**
 * The JSON text of the value that comes next, as `JSON.stringify` writes it; null for what it has no text for, since V1 cannot do without one.
 * It is some times as long as the bytes at most. Recursion ends at `levels`.
 * @throws AppError YJS_UPDATE_INVALID
 */
export function anyToJson(reader: ByteReader, levels: number): string {
  if (levels < 0) throw invalidUpdate('a value in it is nested too deeply');
  const tag = reader.byte();
  switch (tag) {
    case UNDEFINED:
    case 126:
      return 'null';
    case 125:
      return JSON.stringify(reader.varInt());
    case 124:
      return JSON.stringify(reader.float(4));
    case 123:
      return JSON.stringify(reader.float(8));
    case 121:
      return 'false';
    case 120:
      return 'true';
    case 119:
      return textToJson(reader);
    case 118:
      return objectToJson(reader, levels);
    case 117:
      return `[${listOf(reader.count(1), () => anyToJson(reader, levels - 1))}]`;
    case 116:
      return JSON.stringify(Uint8Array.from(reader.part().bytes)); // a Buffer would write itself differently
    default:
      throw invalidUpdate(`it holds a value of the kind ${tag}, which JSON has not`);
  }
}

function objectToJson(reader: ByteReader, levels: number): string {
  const properties = listOf(reader.count(2), () => {
    const key = textToJson(reader);
    const isLeftOut = reader.left > 0 && reader.bytes[reader.at] === UNDEFINED;
    const value = anyToJson(reader, levels - 1);
    return isLeftOut ? null : `${key}:${value}`;
  });
  return `{${properties}}`;
}

function textToJson(reader: ByteReader): string {
  reader.text();
  return JSON.stringify(reader.lastText());
}

function listOf(count: number, next: () => string | null): string {
  const parts: string[] = [];
  for (let left = count; left > 0; left -= 1) {
    const part = next();
    if (part !== null) parts.push(part);
  }
  return parts.join();
}
