/**
 * One Redis process on loopback, private to whoever starts it: without persistence, stopped, frozen and asked at will, and gone with this process.
 */
import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { type Daemon, startDaemon } from './daemon.ts';
import { until } from './e2e/until.ts';

export interface RedisNode {
  readonly port: number;
  /** host:port */
  readonly address: string;
  /** Starts it again, at the same port and empty. Resolves when it answers. */
  start(): Promise<void>;
  /** Kills it: connections end. */
  stop(): Promise<void>;
  /** It goes on accepting connections, and answers none. */
  freeze(): void;
  thaw(): void;
  /** Asks it by `redis-cli`, past whatever is under test. */
  ask(...words: string[]): Promise<string>;
}

/** A server without persistence. */
export function redisCommand(port: number): string[] {
  return ['redis-server', ...onLoopback(port), '--save', '', '--appendonly', 'no'];
}

/**
 * A port to stop and start on, as is the one 10,000 above, where nodes of a cluster talk. Below those that the system hands out: while the server
 * is away, no connection of anybody, not even one that was meant for it, may be given its port.
 */
export async function aRedisPort(): Promise<number> {
  for (;;) {
    const port = 12_000 + randomInt(10_000);
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

export function onLoopback(port: number): string[] {
  return ['--port', String(port), '--bind', '127.0.0.1', '--daemonize', 'no'];
}

/** A node that this command will start. */
export function redisNode(command: readonly string[], { port, directory }: { port: number; directory: string }): RedisNode {
  let daemon: Daemon | null = null;
  const ask = async (...words: string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)('redis-cli', ['-p', String(port), ...words], { timeout: 5_000 });
    return stdout;
  };
  const answers = async (): Promise<boolean> => (await ask('ping')).trim() === 'PONG';
  return {
    port,
    address: `127.0.0.1:${port}`,
    ask,
    async start() {
      daemon = await startDaemon(command, { directory });
      await until(`${command[0]} answers`, answers).catch(async (cause: unknown) => {
        throw new Error(await daemon!.output(), { cause });
      });
    },
    async stop() {
      await daemon?.kill();
    },
    freeze: () => daemon!.signal('SIGSTOP'),
    thaw: () => daemon!.signal('SIGCONT'),
  };
}
