import { expect, onTestFinished, test, vi } from 'vitest';
import { S3Bucket } from '../../src/adapters/s3-bucket.ts';
import { silentLog } from '../../src/base/observe.ts';

test('[LG8] the SDK says nothing of the version of Node', () => {
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined);
  onTestFinished(() => warned.mockRestore());
  new S3Bucket({ bucket: 'b', region: 'r', forcePathStyle: true, log: silentLog }).close();
  expect(warned).not.toHaveBeenCalled();
});
