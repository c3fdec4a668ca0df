/** One request that succeeds, for each operation of the API; `operations.test.ts` makes all others from it. */
import type { Contract } from '../e2e/contract.ts';
import type { TestServer } from '../e2e/server.ts';

export interface Example {
  /** By name, not encoded. */
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** Has every key that the body may have, so that each is tried. */
  readonly json?: unknown;
  readonly bytes?: Uint8Array | undefined;
  /** In place of the secret key, for what only a person may ask; null sends none. */
  readonly bearer?: string | null;
}

export interface World extends Contract {
  readonly server: TestServer;
}

export interface OperationExample {
  /** Makes what the request is about; each call makes something new. */
  readonly make: (world: World) => Promise<Example>;
  /** The status when the room is missing; 404 when not given. */
  readonly withoutRoom?: number;
  /** Keys that cannot stand together with the others. */
  readonly leavesOut?: readonly string[];
  /** Keys that name something that is there: another value within the limits is refused for that. */
  readonly refersTo?: readonly string[];
}

/** `METHOD /path/{as}/in/the/document` → its example. */
export type Examples = Readonly<Record<string, OperationExample>>;

/** For operations that need nothing but a room. */
export const inARoom = (rest: Omit<Example, 'params'> = {}): OperationExample => ({
  make: async ({ aRoom }) => ({ params: { roomId: await aRoom() }, ...rest }),
});
