/**
 * Holds back those frames of one connection whose Storage ops name files, until it is known which of the files their room has, and whatever comes
 * behind them, so that all is passed on in order. It does not know where files are kept, nor what becomes of ops that name missing ones.
 *
 * The check stands here, and not in the room, because a room decides without waiting; files never go before their room does, so what was
 * found stays true on the way.
 */
import { BoundedQueue } from '../base/bounded.ts';
import type { SessionId } from '../base/ids.ts';
import type { Command } from './shapes.ts';
import { filesInOps, hasFilesInOps } from './storage/file-references.ts';

type Frame = string | Uint8Array;

/** A frame, and what it asks for as the session that it came from. */
interface Heard {
  readonly data: Frame;
  readonly commands: readonly Command[];
  readonly session: SessionId | null;
}

interface FileCheckDeps {
  readonly findMissing: (fileIds: readonly string[]) => Promise<readonly string[]>;
  /** The session that is in the room; null when none is. */
  readonly session: () => SessionId | null;
  readonly pass: (commands: readonly Command[]) => void;
  /** Hears a frame anew, because its session is gone. */
  readonly hear: (data: Frame) => void;
  /** It cannot be known what is missing. What was held is heard anew after it. */
  readonly failed: (error: unknown) => void;
}

const HELD_FRAMES_MAX = 1_000;
const HELD_BYTES_MAX = 10 * 1024 * 1024;

export class FileCheck {
  readonly #deps: FileCheckDeps;
  readonly #behind = new BoundedQueue<Heard>({ itemsMax: HELD_FRAMES_MAX, bytesMax: HELD_BYTES_MAX });
  #isLooking = false;

  constructor(deps: FileCheckDeps) {
    this.#deps = deps;
  }

  /** A frame waits for what is found, and all that came behind it. */
  get isLooking(): boolean {
    return this.#isLooking;
  }

  /** Passes the commands of a frame on, now or in their turn. Says whether they are held, or could not be, and then are not passed on at all. */
  take(data: Frame, commands: readonly Command[]): 'passed' | 'held' | 'too much' {
    const heard = { data, commands, session: this.#deps.session() };
    if (this.#isLooking) return this.#behind.push(heard, data.length) ? 'held' : 'too much';
    return this.#handle(heard);
  }

  #handle(heard: Heard): 'passed' | 'held' {
    const fileIds = heard.commands.flatMap(filesIn);
    if (fileIds.length > 0) {
      void this.#look(heard, fileIds);
      return 'held';
    }
    this.#deps.pass(heard.commands);
    return 'passed';
  }

  async #look(heard: Heard, fileIds: readonly string[]): Promise<void> {
    const { findMissing, failed, pass, hear } = this.#deps;
    this.#isLooking = true;
    let missing: ReadonlySet<string> | null = null;
    try {
      missing = new Set(await findMissing(fileIds));
    } catch (error) {
      failed(error);
    }
    this.#isLooking = false;
    if (missing === null || !this.#isOfNow(heard)) hear(heard.data);
    else pass(missing.size === 0 ? heard.commands : marked(heard.commands, missing));
    this.#goOn();
  }

  /** What waited, up to the next frame that names files. */
  #goOn(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      if (this.#isOfNow(next)) this.#handle(next);
      else this.#deps.hear(next.data);
    }
  }

  #next(): Heard | undefined {
    return this.#isLooking ? undefined : this.#behind.shift();
  }

  #isOfNow({ session }: Heard): boolean {
    return session !== null && session === this.#deps.session();
  }
}

/** Whether it would be held, were it to come alone. */
export function namesFiles(command: Command): boolean {
  return command.type === 'storage.change' && hasFilesInOps(command.ops);
}

function filesIn(command: Command): string[] {
  return command.type === 'storage.change' ? filesInOps(command.ops).map(({ fileId }) => fileId) : [];
}

/** Each command with those files that it names in vain. */
function marked(commands: readonly Command[], missing: ReadonlySet<string>): Command[] {
  return commands.map((command) => {
    const missingFiles = filesIn(command).filter((fileId) => missing.has(fileId));
    return command.type === 'storage.change' && missingFiles.length > 0 ? { ...command, missingFiles } : command;
  });
}
