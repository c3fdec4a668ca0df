/**
 * Holds back those frames of one connection whose Storage ops name files, until it is known which of the files their room has, and whatever comes
 * behind them, so that all is passed on in order. It does not know where files are kept, nor what becomes of ops that name missing ones.
 *
 * The check stands here, and not in the room, because a room decides without waiting; files never go before their room does, so what was
 * found stays true on the way.
 */
import { BoundedQueue } from '../base/bounded.ts';
import type { Command } from './shapes.ts';
import { filesInOps, hasFilesInOps } from './storage/file-references.ts';

/** What one frame asks for. */
type Commands = readonly Command[];

interface FileCheckDeps {
  readonly findMissing: (fileIds: readonly string[]) => Promise<readonly string[]>;
  readonly pass: (commands: Commands) => void;
  /** It cannot be known what is missing: what is held stays so. */
  readonly failed: (error: unknown) => void;
}

const HELD_FRAMES_MAX = 1_000;
const HELD_BYTES_MAX = 10 * 1024 * 1024;

export class FileCheck {
  readonly #deps: FileCheckDeps;
  /** The frame that waits for what is found. */
  #first: Commands | null = null;
  readonly #behind = new BoundedQueue<Commands>({ itemsMax: HELD_FRAMES_MAX, bytesMax: HELD_BYTES_MAX });

  constructor(deps: FileCheckDeps) {
    this.#deps = deps;
  }

  /** A frame waits for what is found, and all that came behind it. */
  get isLooking(): boolean {
    return this.#first !== null;
  }

  /** Passes the commands of a frame of so many bytes on, now or in their turn. Says whether they are held, or could not be, and then are not passed on at all. */
  take(commands: Commands, bytes: number): 'passed' | 'held' | 'too much' {
    if (this.isLooking) return this.#behind.push(commands, bytes) ? 'held' : 'too much';
    return this.#handle(commands);
  }

  /** The session that sent it is over: nothing is passed on any more. Returns what was held, frame by frame. */
  end(): Commands[] {
    const held = this.#first === null ? [] : [this.#first];
    this.#first = null;
    for (let next = this.#behind.shift(); next !== undefined; next = this.#behind.shift()) held.push(next);
    return held;
  }

  #handle(commands: Commands): 'passed' | 'held' {
    const fileIds = commands.flatMap(filesIn);
    if (fileIds.length > 0) {
      void this.#look(commands, fileIds);
      return 'held';
    }
    this.#deps.pass(commands);
    return 'passed';
  }

  async #look(commands: Commands, fileIds: readonly string[]): Promise<void> {
    const { findMissing, failed, pass } = this.#deps;
    this.#first = commands;
    let missing: ReadonlySet<string>;
    try {
      missing = new Set(await findMissing(fileIds));
    } catch (error) {
      if (this.#first === commands) failed(error);
      return;
    }
    if (this.#first !== commands) return; // it has ended
    this.#first = null;
    pass(missing.size === 0 ? commands : marked(commands, missing));
    this.#goOn();
  }

  /** What waited, up to the next frame that names files. */
  #goOn(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) this.#handle(next);
  }

  #next(): Commands | undefined {
    return this.isLooking ? undefined : this.#behind.shift();
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
function marked(commands: Commands, missing: ReadonlySet<string>): Command[] {
  return commands.map((command) => {
    const missingFiles = filesIn(command).filter((fileId) => missing.has(fileId));
    return command.type === 'storage.change' && missingFiles.length > 0 ? { ...command, missingFiles } : command;
  });
}
