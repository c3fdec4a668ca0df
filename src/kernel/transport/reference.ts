/** The OpenAPI document as one page for people: static HTML without scripts, fonts or anything else from elsewhere. */
import { ERRORS } from '../../base/error-table.ts';
import type { OpenApi, Operation, Parameter, Schema } from './openapi.ts';

/** Sent with the page: it may load nothing and run nothing, whatever stands in a description. */
export const REFERENCE_HEADERS = {
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
  'x-content-type-options': 'nosniff',
} as const;

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

export function referencePageOf({ info, paths }: OpenApi): string {
  const entries = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Entry => ({ method: method.toUpperCase(), path, operation })),
  );
  const tags = [...new Set(entries.flatMap(({ operation }) => operation.tags))];
  const sections = tags.map((tag) => ({ tag, entries: entries.filter(({ operation }) => operation.tags.includes(tag)) }));
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    `<meta name="viewport" content="width=device-width"><title>${text(info.title)} API</title><style>${STYLE}</style></head><body>`,
    `<nav>${sections.map(contentsOf).join('')}<h3><a href="#errors">Errors</a></h3></nav>`,
    `<main><h1>${text(info.title)} API ${text(info.version)}</h1><p>${text(info.description)} `,
    'The same as a document for programs: <a href="/openapi.json">/openapi.json</a>.</p>',
    ...sections.map(sectionOf),
    errorsSection(),
    '</main></body></html>',
  ].join('\n');
}

interface Section {
  readonly tag: string;
  readonly entries: readonly Entry[];
}

function contentsOf({ tag, entries }: Section): string {
  const items = entries.map(
    ({ method, path, operation }) =>
      `<li><a href="#${operation.operationId}"${struck(operation)}><b>${method}</b> ${text(path)}</a></li>`,
  );
  return `<h3>${text(tag)}</h3><ul>${items.join('')}</ul>`;
}

function sectionOf({ tag, entries }: Section): string {
  return `<h2>${text(tag)}</h2>${entries.map(operationOf).join('')}`;
}

function operationOf({ method, path, operation }: Entry): string {
  const { operationId, summary, parameters = [], requestBody, responses } = operation;
  return [
    `<section id="${operationId}"><h3${struck(operation)}><code>${method} ${text(path)}</code></h3>`,
    `<p>${operation.deprecated ? '<em>Deprecated.</em> ' : ''}${text(summary)}. ${text(keysOf(operation))}</p>`,
    parameters.length === 0 ? '' : table('Parameters', parameters.map(parameterRow)),
    requestBody === undefined ? '' : bodyOf(requestBody),
    table(
      'Answers',
      Object.entries(responses).map(([status, response]) => answerRow(status, response)),
    ),
    '</section>',
  ].join('');
}

function struck({ deprecated }: Operation): string {
  return deprecated ? ' class="deprecated"' : '';
}

function keysOf({ security }: Operation): string {
  const names = security.map((alternative) => {
    const [[scheme, rights] = ['', []]] = Object.entries(alternative);
    return { secretKey: 'the secret key', backEndToken: 'the JWT of /api/authorize', token: `a token with ${rights.join(', ')}` }[
      scheme
    ];
  });
  return names.length === 0 ? 'No key needed.' : `Needs ${names.join(' or ')}.`;
}

function parameterRow({ name, in: place, required, schema }: Parameter): string {
  return row([code(name), `${place}${required ? '' : ', optional'}`, text(typeOf(schema)), prose(rulesOf(schema))]);
}

function bodyOf({ required, content }: NonNullable<Operation['requestBody']>): string {
  const [[first, media] = ['', {}]] = Object.entries(content);
  const types = Object.keys(content).map(code).join(' or ');
  const bytes = media['x-bytes-max'] === undefined ? '' : `, at most ${media['x-bytes-max']} bytes`;
  const head = `<p>Body${required ? '' : ' (optional)'}: ${types}${bytes}.</p>`;
  if (media.schema === undefined || first === '') return head;
  const rows = membersOf(media.schema, '', 0);
  return (
    head + (rows.length === 0 ? `<p>${text(typeOf(media.schema))} ${prose(rulesOf(media.schema))}</p>` : table('Body', rows))
  );
}

function answerRow(status: string, { description = '', content = {} }: Operation['responses'][string]): string {
  const [[type, media] = ['', {}]] = Object.entries(content);
  const isError = status === 'default' || Number(status) >= 400;
  const what = isError ? linked(description) : text(description);
  const shape = isError || media.schema === undefined ? '' : details(membersOf(media.schema, '', 0));
  return row([code(status), isError ? '' : code(type), what + shape]);
}

/** The members of an object, those of objects inside it too, each under its path. */
function membersOf(schema: Schema, prefix: string, depth: number): string[] {
  if (depth > DEPTH_SHOWN_MAX) return [];
  const { properties, required, items, anyOf, additionalProperties } = schema as {
    properties?: Record<string, Schema>;
    required?: readonly string[];
    items?: Schema;
    anyOf?: readonly Schema[];
    additionalProperties?: Schema | boolean;
  };
  const own = Object.entries(properties ?? {}).flatMap(([name, property]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    const need = required?.includes(name) ? '' : 'optional';
    const line = row([code(path), need, text(typeOf(property)), prose(rulesOf(property))]);
    return [line, ...membersOf(property, path, depth + 1)];
  });
  const inner = [
    ...(items === undefined ? [] : [[items, `${prefix}[]`] as const]),
    ...(typeof additionalProperties === 'object' ? [[additionalProperties, `${prefix}.*`] as const] : []),
  ];
  return [
    ...own,
    ...inner.flatMap(([part, path]) => [...ruleRow(part, path), ...membersOf(part, path, depth + 1)]),
    ...(anyOf ?? []).flatMap((branch) => membersOf(branch, prefix, depth + 1)),
  ];
}

/** Items of lists and values of maps have a line of their own where there is more to say than their type. */
function ruleRow(schema: Schema, path: string): string[] {
  const rules = rulesOf(schema);
  return rules === '' ? [] : [row([code(path), '', text(typeOf(schema)), prose(rules)])];
}

const DEPTH_SHOWN_MAX = 8;

function typeOf(schema: Schema): string {
  const {
    type,
    anyOf,
    items,
    const: constant,
    enum: allowed,
  } = schema as {
    type?: string;
    anyOf?: readonly Schema[];
    items?: Schema;
    const?: unknown;
    enum?: readonly unknown[];
  };
  if (constant !== undefined) return JSON.stringify(constant);
  if (allowed !== undefined) return type ?? 'one of a list';
  if (anyOf !== undefined) return [...new Set(anyOf.map(typeOf))].join(' or ');
  if (type === 'array') return items === undefined ? 'array' : `array of ${typeOf(items)}`;
  return type ?? 'any JSON';
}

const RULES: Readonly<Record<string, (limit: unknown) => string>> = {
  maxProperties: (limit) => `at most ${limit} entries`,
  propertyNames: (limit) => `names of ${rulesOf(limit as Schema)}`,
  additionalProperties: (limit) => (typeof limit === 'object' && limit !== null ? `values: ${typeOf(limit as Schema)}` : ''),
  uniqueItems: () => 'no item twice',
  enum: (limit) => `one of ${(limit as unknown[]).map((value) => JSON.stringify(value)).join(', ')}`,
  pattern: (limit) => `matching ${limit}`,
  format: (limit) => `${limit}`,
  default: (limit) => `default ${JSON.stringify(limit)}`,
  'x-json-length-max': (limit) => `at most ${limit} characters as JSON`,
};
/** Limits that come in pairs: the lower, the upper, and what they count. */
const RANGES = [
  ['minLength', 'maxLength', ' characters'],
  ['minimum', 'maximum', ''],
  ['minItems', 'maxItems', ' items'],
] as const;

function rulesOf(schema: Schema): string {
  const ranges = RANGES.map(([least, most, unit]) => rangeOf(schema[least], schema[most], unit));
  const rules = Object.entries(RULES).map(([keyword, say]) => (schema[keyword] === undefined ? '' : say(schema[keyword])));
  const { description } = schema as { description?: string };
  return [[...ranges, ...rules].filter((rule) => rule !== '').join(', '), description ?? '']
    .filter((part) => part !== '')
    .join('. ');
}

function rangeOf(least: unknown, most: unknown, unit: string): string {
  if (least !== undefined && most !== undefined) return `${least} to ${most}${unit}`;
  if (least !== undefined) return `at least ${least}${unit}`;
  return most === undefined ? '' : `at most ${most}${unit}`;
}

function errorsSection(): string {
  const rows = Object.entries(ERRORS).map(([name, { status, close, suggestion }]) =>
    row([`<a id="${name}">${code(name)}</a>`, String(status), String(close), text(suggestion)]),
  );
  const head =
    '<p>A refusal is JSON with <code>error</code>, <code>message</code>, <code>suggestion</code> and <code>docs</code>. ' +
    'Below: code, HTTP status, close code where it ends a socket, suggestion.</p>';
  return `<h2 id="errors">Errors</h2>${head}${table('Errors', rows)}`;
}

function linked(description: string): string {
  return text(description).replaceAll(/[A-Z]+(?:_[A-Z]+)+/g, '<a href="#$&"><code>$&</code></a>');
}

function details(rows: readonly string[]): string {
  return rows.length === 0 ? '' : `<details><summary>its keys</summary>${table('Keys', rows)}</details>`;
}

function table(label: string, rows: readonly string[]): string {
  return `<table aria-label="${label}">${rows.join('')}</table>`;
}

function row(cells: readonly string[]): string {
  return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
}

function code(value: string): string {
  return value === '' ? '' : `<code>${text(value)}</code>`;
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Escaped, with what stands in backquotes as code. */
function prose(value: string): string {
  return text(value).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

function text(value: string): string {
  return value.replaceAll(/[&<>"]/g, (char) => ESCAPES[char]!);
}

const STYLE =
  'body{margin:0;font:15px/1.5 system-ui,sans-serif;color:#1d2129;display:grid;grid-template-columns:24rem 1fr}' +
  'nav{position:sticky;top:0;height:100vh;overflow:auto;padding:1rem;box-sizing:border-box;background:#f5f6f8;font-size:12px}' +
  'nav ul{list-style:none;padding:0;margin:0}nav a{color:inherit;text-decoration:none;word-break:break-all}' +
  'main{padding:1rem 2rem;min-width:0;max-width:64rem}section{border-top:1px solid #d8dce3;padding:.5rem 0 1rem}' +
  'code{font:13px ui-monospace,monospace;word-break:break-word}.deprecated{opacity:.55}' +
  'table{border-collapse:collapse;width:100%;margin:.4rem 0}td{border-bottom:1px solid #e6e9ee;padding:.2rem .8rem .2rem 0;vertical-align:top}' +
  '@media(max-width:60rem){body{display:block}nav{position:static;height:auto}}' +
  '@media(prefers-color-scheme:dark){body{background:#15181d;color:#dfe3ea}nav{background:#1c2027}a{color:#8ab4ff}' +
  'section,td{border-color:#333a45}}';
