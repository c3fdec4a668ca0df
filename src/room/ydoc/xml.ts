/**
 * XML of a Yjs document as Yjs writes it (`toString` of its types). Only where a value has no text does Yjs throw, and with it whoever reads the document:
 * null in a list that is read as a fragment, or an object with a member `toString`, which any client may set.
 */
import * as Y from 'yjs';

/** Y.XmlHook is a map, and has no XML. */
export type Xml = Y.XmlFragment | Y.XmlText;

export function isXml(type: unknown): type is Xml {
  return type instanceof Y.XmlFragment || type instanceof Y.XmlText;
}

/** Recurses as deep as types are nested. */
export function xmlOf(type: Xml): string {
  if (type instanceof Y.XmlText) return type.toDelta().map(markedUp).join('');
  const children = childrenOf(type);
  if (!(type instanceof Y.XmlElement)) return children;
  const name = type.nodeName.toLocaleLowerCase();
  return `<${name}${attributesOf(type.getAttributes())}>${children}</${name}>`;
}

function childrenOf({ _start }: { _start: Y.Item | null }): string {
  let text = '';
  for (let item = _start; item !== null; item = item.right) {
    if (!item.deleted && item.countable) for (const value of item.content.getContent()) text += textOf(value);
  }
  return text;
}

/** Each attribute of a run is an element around it. */
function markedUp({ insert, attributes }: { readonly insert: unknown; readonly attributes?: object }): string {
  const around = sorted(attributes);
  const begin = around.map(([name, value]) => `<${name}${attributesOf(value)}>`).join('');
  const end = around.reverse().map(([name]) => `</${name}>`);
  return begin + textOf(insert) + end.join('');
}

function attributesOf(values: unknown): string {
  return sorted(values)
    .map(([key, value]) => ` ${key}="${textOf(value)}"`)
    .join('');
}

function sorted(values: unknown): [key: string, value: unknown][] {
  return Object.entries(values ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
}

function textOf(value: unknown): string {
  if (isXml(value)) return xmlOf(value);
  try {
    return String(value);
  } catch {
    return String({}); // as any other object
  }
}
