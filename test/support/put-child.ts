/** Puts a stream of MEGABYTES into the bucket of the settings and says by how many bytes the process grew meanwhile, at most. */
import { S3Blobs } from '../../src/adapters/s3-blobs.ts';
import { silentLog } from '../../src/base/observe.ts';
import { aKey, bytesOf, MIB } from './blob-bodies.ts';

const { S3_BUCKET: bucket = '', S3_ENDPOINT: endpoint, MEGABYTES } = process.env;
const blobs = new S3Blobs({ bucket, endpoint, region: 'us-east-1', forcePathStyle: true, log: silentLog });
const piece = bytesOf(64 * 1024);
let peakBytes = 0;

async function* body(): AsyncGenerator<Uint8Array> {
  for (let left = (Number(MEGABYTES) * MIB) / piece.length; left > 0; left--) {
    peakBytes = Math.max(peakBytes, process.memoryUsage.rss());
    yield piece;
  }
}

await blobs.put(aKey(), bytesOf(12 * MIB)); // what any upload needs: code, connections
const before = process.memoryUsage.rss();
const key = aKey();
const { size } = await blobs.put(key, body());
await blobs.delete(key);
process.stdout.write(JSON.stringify({ size, grownBytes: peakBytes - before }));
blobs.close();
