import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PostgresSql } from '../../../src/adapters/postgres-sql.ts';
import { asRoomId, asRoomPk, type RoomId, type RoomPk } from '../../../src/base/ids.ts';
import { silentLog } from '../../../src/base/observe.ts';
import {
  findCompleted,
  findFile,
  findFiles,
  findMissingFiles,
  makeFile,
  type StoredFile,
} from '../../../src/features/files/queries.ts';
import { BlobSweep } from '../../../src/kernel/persistence/blob-sweep.ts';
import { dropBlob, noteBlob } from '../../../src/kernel/persistence/loose-blobs.ts';
import { sql } from '../../../src/kernel/persistence/sql.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { type MemoryBlobs, memoryBlobs } from '../../support/memory-blobs.ts';
import { usePostgres } from '../../support/postgres.ts';
import { aStream } from '../../support/streams.ts';

const postgres = usePostgres();
let db: PostgresSql;
let blobs: MemoryBlobs;
let roomId: RoomId;
let roomPk: RoomPk;
let made = 0;
beforeAll(async () => {
  db = await postgres.open();
});
beforeEach(async () => {
  blobs = memoryBlobs();
  await db.query(sql`truncate loose_blobs`);
  ({ roomId, roomPk } = await aRoom());
});

async function aRoom(): Promise<{ roomId: RoomId; roomPk: RoomPk }> {
  const stream = await aStream(db);
  const [room] = await db.query(sql<{ id: string }>`select id from rooms where pk = ${stream}`);
  return { roomId: asRoomId(room!.id), roomPk: asRoomPk(stream) };
}

const anId = (letter: string): string => `fl_${letter.repeat(21)}`;
/** A file whose blob is in the store, and loose. */
async function aLooseFile(id = anId('a'), over: Partial<StoredFile> = {}): Promise<StoredFile> {
  const blobKey = `v1/files/${++made}`;
  await noteBlob(db, blobKey);
  await blobs.put(blobKey, new Uint8Array([1]));
  return { id, name: 'a.txt', size: 1, mimeType: 'text/plain', blobKey, ...over };
}
const looseKeys = async (): Promise<string[]> =>
  (await db.query(sql<{ key: string }>`select key from loose_blobs order by key`)).map(({ key }) => key);
const sweep = async (): Promise<void> => {
  const one = new BlobSweep({ db, blobs, clock: manualClock(Date.now()), log: silentLog });
  await one.run();
  await one.close();
};

describe('making a file', () => {
  test('[FI10] its blob is loose no more, and the room has it', async () => {
    const file = await aLooseFile();
    expect(await makeFile(db, { roomPk, file, from: null })).toEqual(file);
    expect(await looseKeys()).toEqual([]);
    expect(await findFile(db, { roomId, fileId: file.id })).toEqual({ roomPk, file });
    expect(await findFile(db, { roomId: (await aRoom()).roomId, fileId: file.id })).toMatchObject({ file: null });
  });

  test('[FI10] of several at once under one id one is made; the blobs of the others stay loose', async () => {
    const files = await Promise.all(Array.from({ length: 6 }, () => aLooseFile()));
    const outcomes = await Promise.all(files.map((file) => makeFile(db, { roomPk, file, from: null })));
    const kept = outcomes.filter((outcome) => outcome !== null);
    expect(kept).toHaveLength(1);
    expect(await looseKeys()).toEqual(
      files
        .map(({ blobKey }) => blobKey)
        .filter((key) => key !== kept[0]!.blobKey)
        .sort(),
    );
    expect((await findFile(db, { roomId, fileId: anId('a') })).file).toEqual(kept[0]);
  });

  test('[FI11] a blob that a sweep has taken is not made a file', async () => {
    const file = await aLooseFile();
    await dropBlob(db, file.blobKey);
    await sweep();
    expect(await makeFile(db, { roomPk, file, from: null })).toBeNull();
    expect((await findFile(db, { roomId, fileId: file.id })).file).toBeNull();
  });

  test('[FI11] nor one that a sweep is about to delete', async () => {
    const file = await aLooseFile();
    await db.query(sql`update loose_blobs set doomed = true where key = ${file.blobKey}`);
    expect(await makeFile(db, { roomPk, file, from: null })).toBeNull();
  });

  test('[FI11] nor one of a room that is gone', async () => {
    const file = await aLooseFile();
    await db.query(sql`delete from rooms where pk = ${roomPk}`);
    expect(await makeFile(db, { roomPk, file, from: null })).toBeNull();
    expect(await looseKeys()).toEqual([file.blobKey]);
    await expect(findFile(db, { roomId, fileId: file.id })).rejects.toMatchObject({ code: 'ROOM_NOT_FOUND' });
  });

  test('[FI10] dropping the key of a file does no harm to it', async () => {
    const file = await aLooseFile();
    await makeFile(db, { roomPk, file, from: null });
    await dropBlob(db, file.blobKey);
    await sweep();
    expect([...blobs.stored.keys()]).toEqual([file.blobKey]);
  });

  test('[FI12] a file made of parts ends its upload, and is known by its parts', async () => {
    const file = await aLooseFile();
    await db.query(sql`
      insert into uploads (id, stream, subject, about, blob_key, store_upload_id, due_at)
      values ('made', ${roomPk}, ${file.id}, '{}', ${file.blobKey}, 'u', now()), ('other', ${roomPk}, ${file.id}, '{}', 'k', 'u', now())`);
    await makeFile(db, { roomPk, file, from: { uploadId: 'made', digest: 'abc' } });
    expect(await db.query(sql`select id from uploads where stream = ${roomPk}`)).toEqual([{ id: 'other' }]);
    const find = (uploadId: string, digest: string) => findCompleted(db, { roomPk, fileId: file.id, uploadId, digest });
    expect(await find('made', 'abc')).toEqual(file);
    expect([await find('made', 'abd'), await find('other', 'abc')]).toEqual([null, null]);
  });
});

describe('deleting the room', () => {
  test('[FI13] takes its files along, and the sweep their blobs; those of other rooms stay', async () => {
    const other = await aRoom();
    for (const letter of ['a', 'b', 'c']) await makeFile(db, { roomPk, file: await aLooseFile(anId(letter)), from: null });
    const kept = await aLooseFile();
    await makeFile(db, { roomPk: other.roomPk, file: kept, from: null });
    await db.query(sql`delete from rooms where pk = ${roomPk}`);
    expect(await looseKeys()).toHaveLength(3);
    await sweep();
    expect([...blobs.stored.keys()]).toEqual([kept.blobKey]);
    expect((await findFile(db, { roomId: other.roomId, fileId: kept.id })).file).toEqual(kept);
  });
});

describe('which files a room has', () => {
  test('[FI14] those that it misses are named once, those of other rooms among them; a room that is missing misses none', async () => {
    const [here, elsewhere] = [await aLooseFile(anId('h')), await aLooseFile(anId('e'))];
    await makeFile(db, { roomPk, file: here, from: null });
    await makeFile(db, { roomPk: (await aRoom()).roomPk, file: elsewhere, from: null });
    const fileIds = [here.id, elsewhere.id, anId('n'), anId('n')];
    expect((await findMissingFiles(db, { roomId, fileIds })).sort()).toEqual([elsewhere.id, anId('n')].sort());
    expect(await findMissingFiles(db, { roomId, fileIds: [] })).toEqual([]);
    expect(await findMissingFiles(db, { roomId: asRoomId('no such room'), fileIds })).toEqual([]);
  });

  test('[FI14] those that it has come by id; a room without any is no missing room', async () => {
    const [one, two] = [await aLooseFile(anId('1')), await aLooseFile(anId('2'))];
    for (const file of [one, two]) await makeFile(db, { roomPk, file, from: null });
    const found = await findFiles(db, { roomId, fileIds: [two.id, one.id, anId('n')] });
    expect([...found].sort()).toEqual(
      [
        [one.id, one],
        [two.id, two],
      ].sort(),
    );
    expect((await findFiles(db, { roomId, fileIds: [anId('n')] })).size).toBe(0);
    expect((await findFiles(db, { roomId, fileIds: [] })).size).toBe(0);
    await expect(findFiles(db, { roomId: asRoomId('no such room'), fileIds: [] })).rejects.toMatchObject({
      code: 'ROOM_NOT_FOUND',
    });
  });
});
