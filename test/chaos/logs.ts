/** What the nodes say: lines that no fault excuses are complaints, others of weight are noted in the history. */
import type { History } from './history.ts';
import type { LogLine, NodeEvents } from './node-process.ts';

export interface NodeLogs {
  readonly eventsOf: (node: string) => NodeEvents;
  readonly complaints: readonly string[];
}

const ERROR = 50;
/** Phrases of our own that mean a bug, whatever befell the worker. */
const BUGS = /^(uncaught error|room broken|decision failed|handler failed|connection failed|room failed)/;
/** What Node or a library prints when a process ends by an error that nobody caught. */
const CRASH = /^(\s+at |\w*Error: |node:internal|Node\.js v)/;
/** Errors that say that something was away: those a fault excuses. */
const EXCUSED = /DATABASE_UNAVAILABLE|BLOBS_UNAVAILABLE|WORKER_UNREACHABLE|SERVER_STOPPING|ROOM_MOVED|OUTCOME_UNKNOWN|NO_ANSWER/;
const COMPLAINT_CHARACTERS_MAX = 1_500;

export function watchLogs(history: History): NodeLogs {
  const complaints: string[] = [];
  const complain = (node: string, what: string): void => {
    complaints.push(`${node} at ${Math.round(history.nowMs())} ms: ${what.slice(0, COMPLAINT_CHARACTERS_MAX)}`);
  };
  const eventsOf = (node: string): NodeEvents => ({
    line(line: LogLine) {
      const text = JSON.stringify(line);
      if (BUGS.test(line.msg) && !EXCUSED.test(text)) complain(node, text);
      else if (Number(line.level) >= ERROR) history.note({ node, line });
    },
    text(text) {
      if (CRASH.test(text)) complain(node, text);
      else history.note({ node, text });
    },
    end: (code) => history.note({ node, ended: code }),
  });
  return { eventsOf, complaints };
}
