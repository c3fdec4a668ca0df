/** The ways in which an update of a Yjs document is refused: a part of `error-table.ts`. */
import type { ErrorEntry } from './error-table.ts';

export const YJS_ERRORS = {
  YJS_UPDATE_INVALID: {
    status: 422,
    close: 4000,
    retry: false,
    message: (facts) => `The Yjs update was refused: ${facts.reason}.`,
    suggestion: 'Send an update in the V1 encoding, as Y.encodeStateAsUpdate makes it.',
  },
  YJS_UPDATE_EARLY: {
    status: 422,
    close: 4000,
    retry: false,
    message: (facts) => `The Yjs update builds on others that have not come, and ${facts.tooMuch} would wait.`,
    suggestion: 'Send the updates it builds on first, or the whole document.',
  },
  YJS_UPDATE_CROWDED: {
    status: 422,
    close: 4000,
    retry: false,
    message: () =>
      'The Yjs update was refused: it puts too much at one place where others put much without having heard of each other; to merge that takes everybody seconds.',
    suggestion: 'Let those who write much at one place be connected meanwhile: what they put there is then merged as it comes.',
  },
  YJS_CLIENT_ID_IN_USE: {
    status: 409,
    close: 4000,
    retry: false,
    message: (facts) => `Another live session writes as Yjs client ${facts.clientId}.`,
    suggestion: 'Give each Y.Doc its own clientID; Yjs picks a random one by itself.',
  },
  YJS_CLIENT_ID_HELD: {
    status: 409,
    close: 1012,
    retry: true,
    message: (facts) =>
      `The Yjs update was refused for now: it uses up clocks of client ${facts.clientId}, as which another live session writes.`,
    suggestion:
      'Try again: if it is the same client, whose connection broke, its former session ends once it was silent for long enough.',
  },
} as const satisfies Record<string, ErrorEntry>;
