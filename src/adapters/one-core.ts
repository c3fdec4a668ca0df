/**
 * V8 marks garbage beside the code that runs, on threads of its own. Where the process has one core these only take it away from what people wait for,
 * 60 ms at a time: there, marking is done in small steps between the work. Measured in bench/README.md, "Where the time goes".
 */
import { availableParallelism } from 'node:os';
import { setFlagsFromString } from 'node:v8';

/** Call it before anything else has filled the heap. */
export function spareTheOnlyCore(): void {
  if (availableParallelism() === 1) setFlagsFromString('--no-concurrent-marking');
}
