/** Starts the test file that takes longest before all others, so that nothing is left waiting for it alone at the end. */
import type { TestSpecification } from 'vitest/node';
import { BaseSequencer } from 'vitest/node';

const LONGEST = 'test/sim/sim.test.ts';

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((left, right) => Number(right.moduleId.endsWith(LONGEST)) - Number(left.moduleId.endsWith(LONGEST)));
  }
}
