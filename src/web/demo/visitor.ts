/** Who this tab is: a made-up name that its user id spells, and a colour that follows from it. Each tab is a visitor of its own. */
import { randomId } from './random-id.ts';

export interface Visitor {
  /** `brisk-otter-7f3k` */
  readonly id: string;
  readonly name: string;
  readonly color: string;
  /** The address of a picture: the first letters on the colour. */
  readonly avatar: string;
}

const FIRST =
  'amber bold brisk calm candid clever cosy eager gentle jolly keen kind lively lucky merry neat nimble quick quiet sunny'.split(
    ' ',
  );
const SECOND =
  'badger beaver crane dolphin falcon finch fox gecko heron ibis koala lynx marten newt otter panda robin seal tern wren'.split(
    ' ',
  );
/** White text can be read on all of them. */
const COLORS = ['#c2410c', '#b91c1c', '#be185d', '#7e22ce', '#4338ca', '#1d4ed8', '#0e7490', '#047857', '#4d7c0f', '#a16207'];
const KEY = 'atrium-visitor';

/** The same until the tab is closed. */
export function thisVisitor(): Visitor {
  const kept = sessionStorage.getItem(KEY);
  const id = kept ?? newId();
  if (kept === null) sessionStorage.setItem(KEY, id);
  return visitorOf(id);
}

/** Whoever wrote a comment may be gone; the id says enough. */
export function visitorOf(id: string): Visitor {
  const [first = '', second = ''] = id.split('-');
  const name = [first, second].map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(' ');
  let sum = 0;
  for (const character of id) sum = (sum * 31 + character.charCodeAt(0)) % 65_521;
  const color = COLORS[sum % COLORS.length]!;
  return { id, name, color, avatar: avatarOf(`${first.charAt(0)}${second.charAt(0)}`.toUpperCase(), color) };
}

function avatarOf(letters: string, color: string): string {
  const text = `<text x="16" y="20.5" fill="#fff" font-family="sans-serif" font-size="12.5" font-weight="bold" text-anchor="middle">${letters}</text>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" fill="${color}"/>${text}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

function newId(): string {
  const [first, second] = crypto.getRandomValues(new Uint16Array(2));
  return `${FIRST[first! % FIRST.length]}-${SECOND[second! % SECOND.length]}-${randomId(4)}`;
}

/** A token for this visitor. @throws when the server has no demo. */
export async function authorize({ id, color }: Visitor): Promise<{ token: string }> {
  const response = await fetch('/demo/token', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ userId: id, color }),
  });
  if (!response.ok) throw new Error(`No token for the demo: ${response.status}`);
  return response.json();
}
