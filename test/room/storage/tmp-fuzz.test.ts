import { createClient, LiveList, LiveMap, LiveObject, LiveText } from '@liveblocks/client';
import { expect, test, vi } from 'vitest';
import { applyOps } from '../../../src/room/storage/apply.ts';
import { toJson } from '../../../src/room/storage/lson.ts';
import { checkOps } from '../../../src/protocol/storage-ops.ts';
import { compactNodes, emptyStorage } from '../../../src/room/storage/tree.ts';

function mulberry(seed: number) { let a = seed >>> 0; return () => { a = (a + 0x6d2b79f5) | 0; let t = Math.imul(a ^ (a >>> 15), 1 | a); t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t; return ((t ^ (t >>> 14)) >>> 0) / 4294967296; }; }

class Server {
  storage = emptyStorage(); conns: Sock[] = []; actor = 1; rejected = 0; repairs = 0;
  join(sock: Sock) { sock.actor = this.actor++; sock.down.push({ type: 104, actor: sock.actor, nonce: 'n' + sock.actor, scopes: ['*:write'], users: {}, meta: {} }); this.conns.push(sock); }
  state(sock: Sock) { sock.down.push({ type: 210, nodes: compactNodes(this.storage) }, { type: 211 }); }
  receive(sock: Sock, text: string) {
    if (text === 'ping') { sock.down.push('pong'); return; }
    const parsed = JSON.parse(text); const msgs = Array.isArray(parsed) ? parsed : [parsed];
    for (const m of msgs) {
      if (m.type === 200) { this.state(sock); sock.subscribed = true; }
      if (m.type === 201) {
        const r = applyOps(this.storage, checkOps(m.ops), { actor: sock.actor });
        if (r.replies.length) sock.down.push({ type: 201, ops: r.replies });
        for (const o of this.conns) if (o !== sock && o.subscribed && r.forwards.length) o.down.push({ type: 201, ops: r.forwards });
        for (const j of r.rejected) { this.rejected++; sock.down.push({ type: 299, ...j }); }
        const replay = m.ops.some((o: any) => !o.opId.startsWith(sock.actor + ':')); if (r.needsRepair && (process.env.POLICY === 'full' || (process.env.POLICY === 'replay' && replay))) { this.repairs++; for (const o of this.conns) if (o === sock || (process.env.RPAIRALL === '1' && o.subscribed)) this.state(o); }
      }
    }
  }
}
let server: Server; const thrown = new Map<string, number>();
class Sock {
  static CONNECTING = 0; static OPEN = 1; static CLOSING = 2; static CLOSED = 3; CONNECTING = 0; OPEN = 1; CLOSING = 2; CLOSED = 3;
  readyState = 0; up: string[] = []; down: any[] = []; subscribed = false; actor = 0; ls: Record<string, any[]> = {};
  constructor(public url: string) { setTimeout(() => { if (this.readyState !== 0) return; this.readyState = 1; this.emit('open', {}); server.join(this); }, 1); }
  addEventListener(t: string, f: any) { (this.ls[t] ??= []).push(f); } removeEventListener(t: string, f: any) { this.ls[t] = (this.ls[t] ?? []).filter((x) => x !== f); }
  emit(t: string, e: any) { for (const f of this.ls[t] ?? []) try { f({ type: t, ...e }); } catch (error) { thrown.set(String(error), (thrown.get(String(error)) ?? 0) + 1); } }
  send(d: string) { this.up.push(d); }
  close() { this.drop(1000); }
  drop(code: number) { if (this.readyState === 3) return; this.readyState = 3; server.conns = server.conns.filter((c) => c !== this); this.up = []; this.down = []; this.emit('close', { code, reason: '', wasClean: false }); }
}

const MODE = process.env.KINDS ?? 'all'; const FROM = Number(process.env.FROM ?? 1); const SEEDS = Number(process.env.SEEDS ?? 20); const DROPS = process.env.DROPS === '1'; const UNDO = process.env.UNDO === '1'; const STEPS = Number(process.env.STEPS ?? 120); const SETS = process.env.SETS !== '0';

async function run(seed: number) {
  const rnd = mulberry(seed); const int = (n: number) => Math.floor(rnd() * n); const pick = <T,>(a: T[]) => a[int(a.length)]!;
  server = new Server();
  const clients: any[] = [];
  for (let i = 0; i < 3; i++) {
    const client = createClient({ publicApiKey: 'pk_test_xxxxxxxx', throttle: 16, polyfills: { WebSocket: Sock as any, fetch: (async () => { throw new Error('no fetch'); }) as any }, baseUrl: 'http://x.test' } as any);
    const { room, leave } = client.enterRoom('room', { initialStorage: {}, initialPresence: {} } as any);
    clients.push({ room, leave });
  }
  const pump = async (all: boolean) => {
    for (let guard = 0; guard < 5000; guard++) {
      const moves: (() => void)[] = [];
      for (const c of server.conns) { if (c.up.length) moves.push(() => server.receive(c, c.up.shift()!)); if (c.down.length) moves.push(() => { const m = c.down.shift(); c.emit('message', { data: typeof m === 'string' ? m : JSON.stringify(m) }); }); }
      if (moves.length === 0) return; pick(moves)(); await Promise.resolve();
      if (!all && rnd() < 0.3) return;
    }
  };
  const settle = async () => { for (let i = 0; i < 60; i++) { await vi.advanceTimersByTimeAsync(20); await pump(true); } };
  const roots: any[] = [];
  for (const c of clients) { const p = c.room.getStorage(); for (let i = 0; i < 20; i++) { await vi.advanceTimersByTimeAsync(20); await pump(true); } roots.push((await p).root);
    if (roots.length === 1) { const r = roots[0]; r.set('list', new LiveList([1, 2, 3])); r.set('map', new LiveMap()); r.set('obj', new LiveObject({})); r.set('text', new LiveText('hello world')); for (let i = 0; i < 5; i++) { await vi.advanceTimersByTimeAsync(20); await pump(true); } } }
  for (const c of clients) c.room.history.clear();
  let n = 0;
  const val = () => (rnd() < 0.7 ? n++ : rnd() < 0.5 ? new LiveObject({ v: n++ }) : new LiveList([n++, n++]));
  const listOp = (l: any) => { const len = l.length; const r = rnd();
    if (r < 0.25) l.push(val()); else if (r < 0.45) l.insert(val(), int(len + 1)); else if (len && r < 0.6) l.delete(int(len)); else if (len > 1 && r < 0.8) l.move(int(len), int(len)); else if (SETS && len) l.set(int(len), val()); };
  const act = (i: number) => {
    const root = roots[i]; const kinds = MODE === 'all' ? ['list', 'map', 'obj', 'text', 'nested'] : MODE.split(','); const k = pick(kinds);
    try {
      if (UNDO && rnd() < 0.15) { const h = clients[i].room.history; if (rnd() < 0.6) h.undo(); else h.redo(); return; }
      if (k === 'list') { const l = root.get('list'); if (l) listOp(l); }
      else if (k === 'nested') { const l = root.get('list'); const x = l && l.length ? l.get(int(l.length)) : null; if (x instanceof LiveList) listOp(x); else if (x instanceof LiveObject) { rnd() < 0.7 ? x.set(pick(['a', 'b']), rnd() < 0.7 ? n++ : new LiveList([n++])) : x.delete(pick(['a', 'b'])); } }
      else if (k === 'map') { const m = root.get('map'); if (!m) return; const key = pick(['a', 'b', 'c']); rnd() < 0.7 ? m.set(key, val()) : m.delete(key); }
      else if (k === 'obj') { const o = root.get('obj'); if (!o) return; const key = pick(['a', 'b', 'c']); rnd() < 0.5 ? o.set(key, val()) : rnd() < 0.5 ? o.update({ a: n++, b: n++ }) : o.delete(key); }
      else if (k === 'text') { const t = root.get('text'); if (!t) return; const len = t.length; const r = rnd(); if (r < 0.5) t.insert(int(len + 1), pick(['x', 'yy', '😀']), rnd() < 0.2 ? { b: true } : undefined); else if (len > 2 && r < 0.75) { const a = int(len - 1); t.delete(a, 1 + int(Math.min(4, len - a))); } else if (len > 2) { const a = int(len - 1); t.format(a, 1 + int(Math.min(4, len - a)), { b: pick([true, null]), i: pick([1, null]) }); } }
    } catch (e) { if (!/not implemented|not in the list|equal positions|reposition|out of|deleted|bounds|range/i.test(String(e))) throw e; }
  };
  for (let s = 0; s < STEPS; s++) {
    act(int(3)); if (rnd() < 0.4) act(int(3));
    if (rnd() < 0.5) await vi.advanceTimersByTimeAsync(17);
    if (rnd() < 0.5) await pump(false);
    if (DROPS && rnd() < 0.03 && server.conns.length) { pick(server.conns).drop(1006); }
    if (DROPS && rnd() < 0.05) for (let i = 0; i < 40; i++) { await vi.advanceTimersByTimeAsync(100); await pump(false); }
  }
  for (let i = 0; i < 5; i++) { for (let j = 0; j < 20; j++) { await vi.advanceTimersByTimeAsync(500); await pump(true); } await settle(); }
  const want = JSON.stringify(toJson(server.storage), sortKeys);
  const got = roots.map((_, i) => i);
  const diffs: string[] = [];
  for (const i of got) { const j = JSON.stringify(roots[i].toJSON(), sortKeys); if (j !== want) diffs.push(`client ${i} ${clients[i].room.getStorageStatus()} ${clients[i].room.getStatus()}\n  has  ${j}\n  want ${want}`); else if (clients[i].room.getStorageStatus() !== 'synchronized') diffs.push(`client ${i} is ${clients[i].room.getStorageStatus()}`); }
  for (const c of clients) c.leave();
  await vi.advanceTimersByTimeAsync(100);
  return { diffs, rejected: server.rejected, repairs: server.repairs };
}
function sortKeys(_: string, v: any) { return v && typeof v === 'object' && !Array.isArray(v) ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1))) : v; }

test('fuzz', async () => {
  process.env.NODE_ENV = 'production';
  vi.useFakeTimers();
  let bad = 0, mism = 0, rejected = 0, repairs = 0; const errs: string[] = [];
  const ce = vi.spyOn(console, 'error').mockImplementation((...a: any[]) => { if (String(a[0]).includes('prediction') || String(a[1]).includes('prediction')) mism++; else errs.push(a.map(String).join(' ').slice(0, 200)); });
  const cw = vi.spyOn(console, 'warn').mockImplementation(() => {});
  for (let seed = FROM; seed < FROM + SEEDS; seed++) {
    let r: any; try { r = await run(seed); } catch (e) { r = { diffs: ['threw ' + (e as Error).stack], rejected: 0, repairs: 0 }; }
    rejected += r.rejected; repairs += r.repairs;
    if (r.diffs.length) { bad++; if (bad <= 3) process.stdout.write(`SEED ${seed}\n${r.diffs.join('\n')}\n`); }
  }
  ce.mockRestore(); cw.mockRestore();
  process.stdout.write(`RESULT mode=${MODE} drops=${DROPS} undo=${UNDO} sets=${SETS} seeds=${SEEDS} diverged=${bad} mispredictions=${mism} rejected=${rejected} repairs=${repairs} errors=${errs.length} thrown=${JSON.stringify([...thrown])} ${[...new Set(errs)].slice(0, 3).join('|')}\n`);
  expect(1).toBe(1);
}, 600_000);
