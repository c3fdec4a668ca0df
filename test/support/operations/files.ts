/** Examples of files. Those of a body are empty: announced as 0 bytes, they are taken at the edge of what a file may be. */
import { aFileId, fileAt } from '../e2e/files.ts';
import type { Example, Examples, OperationExample, World } from './example.ts';

const NOTHING = new Uint8Array();

interface Place {
  readonly roomId: string;
  readonly fileId: string;
}

const inANewPlace = (then: (place: Place, world: World) => Promise<Example> | Example): OperationExample => ({
  make: async (world) => then({ roomId: await world.aRoom(), fileId: aFileId() }, world),
});

async function begun({ roomId, fileId }: Place, { call }: World): Promise<Place & { uploadId: string }> {
  const { uploadId } = (await call(`POST ${fileAt(roomId, fileId, '/multipart/a.txt')}`)).json;
  return { roomId, fileId, uploadId };
}

const uploaded = inANewPlace(async (place, { call }) => {
  const contentType = 'application/octet-stream';
  await call(`PUT ${fileAt(place.roomId, place.fileId, '/upload/a.txt')}`, { body: 'hello', contentType });
  return { params: { ...place } };
});
const whole = inANewPlace((place) => ({ params: { ...place, name: 'a.txt' }, query: { fileSize: '0' }, bytes: NOTHING }));
const begin = inANewPlace((place) => ({ params: { ...place, name: 'a.txt' }, query: { fileSize: '0' } }));
const part = inANewPlace(async (place, world) => ({
  params: { ...(await begun(place, world)), partNumber: '1' },
  bytes: NOTHING,
}));
const complete: OperationExample = {
  ...inANewPlace(async (place, world) => {
    const params = await begun(place, world);
    const path = fileAt(place.roomId, place.fileId, `/multipart/${params.uploadId}/1`);
    const uploadedPart = await world.call(`PUT ${path}`, { body: 'hello', contentType: 'application/octet-stream' });
    return { params: { ...params }, json: { parts: [uploadedPart.json] } };
  }),
  refersTo: ['parts', 'parts.0.partNumber', 'parts.0.etag'],
};
const abort = inANewPlace(async (place, world) => ({ params: { ...(await begun(place, world)) } }));

const FOR_BACK_ENDS = '/v2/rooms/{roomId}/storage/files';
const FOR_CLIENTS = '/v2/c/rooms/{roomId}/storage/files';

const uploading = (base: string): Examples => ({
  [`PUT ${base}/{fileId}/upload/{name}`]: whole,
  [`POST ${base}/{fileId}/multipart/{name}`]: begin,
  [`PUT ${base}/{fileId}/multipart/{uploadId}/{partNumber}`]: part,
  [`POST ${base}/{fileId}/multipart/{uploadId}/complete`]: complete,
  [`DELETE ${base}/{fileId}/multipart/{uploadId}`]: abort,
});

export const FILE_EXAMPLES: Examples = {
  [`GET ${FOR_BACK_ENDS}/{fileId}`]: uploaded,
  ...uploading(FOR_BACK_ENDS),
  ...uploading(FOR_CLIENTS),
  [`POST ${FOR_CLIENTS}/presigned-urls`]: inANewPlace(({ roomId, fileId }) => ({
    params: { roomId },
    json: { fileIds: [fileId] },
  })),
};
