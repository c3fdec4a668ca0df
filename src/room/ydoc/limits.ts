/**
 * Every bound on a Yjs document (reliability 2.f). The bombs that each one stops are in `test/room/ydoc/bombs.test.ts`.
 *
 * There is no fixed bound on structs per update: a first sync of a large document holds hundreds of thousands. Yjs spends at
 * least two bytes on a struct, so a declared count beyond half the bytes that are left is refused before anything is
 * allocated for it.
 */
export const YDOC_LIMITS = {
  /** One update. Sockets have a tighter bound of their own; this one is for REST (supplement 1.4). */
  updateBytesMax: 20 * 1024 * 1024,
  /**
   * An update in the V2 encoding, once it is in V1: about what a frame of a client of V1 holds. Columns of V2 are runs, a few bytes of which may stand for any number
   * of structs: it is no longer, either, than so many times its bytes and a constant. People's lists of empty types take nothing in V2, some 10 bytes each in V1.
   */
  fromV2BytesMax: 8 * 1024 * 1024,
  fromV2BytesPerByte: 16,
  fromV2BytesMore: 1024 * 1024,
  /** By so many it is longer than what was sent for each message that it counts as beside its own. */
  fromV2BytesPerMessage: 8 * 1024,
  /** Merged bytes and the updates since. More would not fit a worker that holds many rooms. */
  documentBytesMax: 50 * 1024 * 1024,
  /**
   * Types within types, and values within values. Yjs deletes and reads recursively: some thousands overflow its stack for
   * ever.
   */
  nestingMax: 64,
  /**
   * What waits for updates that have not come. Yjs merges all structs of it again with each further one: 64 KiB cost some 1 ms a message. Who is
   * refused is asked for all that the room lacks (`decide.ts`), so that nothing is lost with a small bound.
   */
  pendingBytesMax: 64 * 1024,
  /** Structs among it, whose number the bytes of V2 do not bound; each document within the document counts as 16, for Yjs makes it anew whenever it reads what waits. */
  waitingStructsMax: 1_000,
  /** Deletions among it. Yjs tries all of them again with each update, whatever is in it: 4 KiB, some 2,000 ranges, cost some 0.1 ms. */
  pendingDeletesBytesMax: 4 * 1024,
  /** Documents within a document, that are not deleted: each is a `Y.Doc`, 2.4 KB and 20 µs for 7 bytes. */
  documentsMax: 10_000,
  /** Items of a document: 260 bytes of heap each, 630 where each is a type, and 4 to 9 µs whenever it is read. A text of 50 MiB that people typed has 3 million. */
  itemsMax: 4_000_000,
  /** Roots of a document: whenever Yjs writes one it looks for its name among all of them. */
  rootsMax: 5_000,
  /** Highest clock of a client; beyond it arithmetic on 32 bits in other ports of Yjs breaks. */
  clockMax: 2 ** 31,
  /** How far beyond a client's known clock a struct or deletion may lie and still wait for what is between. */
  clockLeadMax: 1_000_000,
  /** Clocks that one update of a session may use up with deleted content, which takes no bytes. REST may import more. */
  deletedAdvanceMax: 1_000_000,
  /** The same on a client id that another live session writes: each such clock is one that its owner can no longer use. */
  strangerAdvanceMax: 10_000,
  /** Client ids whose writer is remembered, and structs remembered of each (16 bytes a struct). */
  writersMax: 256,
  writerStructsMax: 64,
  /** Updates since the last compaction that are still joined byte by byte for a newcomer; more are folded first. */
  joinedTailMax: 2_000,
  /**
   * Answers of its own that one session gets of a document while nothing in it changes; each costs up to an encoding of all of it. A client
   * that has had one lacks nothing, and to ask then is not counted.
   */
  partlyAnswersMax: 4,
  /**
   * Steps of Yjs where several writers put something at one place (`crowding.ts`), some 0.4 µs each, that an update may take when it is tried;
   * two people who each put 500 things there while offline take 250,000.
   */
  updateStepsMax: 300_000,
  /**
   * Those that all that is kept untried may take together, when a `Y.Doc` is made at last; and for each item, of which each takes longer to read
   * than that: who writes here and there in a large document would be tried each time.
   */
  plainStepsMin: 250_000,
  plainStepsPerItem: 4,
  /** Those that what waited may take when it is set free, by an update that has no part in it. */
  freedStepsMax: 500_000,
  /** Structs at risk that may wait whatever else is in the document. */
  waitingRiskMin: 64,
  /** Those that a document may take in all, and for each item in it besides, which itself takes longer to read. */
  documentStepsMin: 600_000,
  stepsPerItem: 8,
  /** Beyond that an update is taken when it takes no more than these. */
  smallStepsMax: 100,
  /** Clients of whom it is remembered that nothing stands behind their last struct; each other one costs a little certainty. */
  freeClientsMax: 256,
  /** Updates of a session that were refused at the price of a new `Y.Doc` before it is closed. */
  costlyAnswersMax: 3,
} as const;

export type YdocLimits = { readonly [Key in keyof typeof YDOC_LIMITS]: number };

if (!(YDOC_LIMITS.strangerAdvanceMax < YDOC_LIMITS.deletedAdvanceMax && YDOC_LIMITS.deletedAdvanceMax < YDOC_LIMITS.clockMax)) {
  throw new Error('ydoc limits: a stranger may do less than an owner, and one update less than a lifetime');
}
