/** Examples of attachments. Those of a body are empty: announced as 0 bytes, they are taken at the edge of what an attachment may be. */
import { anAttachmentId, attachmentAt } from '../e2e/attachments.ts';
import { accessTokenFor } from '../e2e/tokens.ts';
import type { Example, Examples, OperationExample, World } from './example.ts';

const NOTHING = new Uint8Array();
const contentType = 'application/octet-stream';

/** Who uploads: a back end for a user, or the user. */
interface Side {
  readonly base: string;
  readonly query: Readonly<Record<string, string>>;
  /** In place of the secret key. */
  readonly bearer?: string;
  readonly path: (rest: string) => string;
}
interface Place extends Side {
  readonly params: { readonly roomId: string; readonly attachmentId: string };
}
type Ask = { readonly bearer?: string };

const as = ({ bearer }: Side): Ask => (bearer === undefined ? {} : { bearer });

const inANewPlace =
  (kind: 'back end' | 'client') =>
  (then: (place: Place, world: World) => Promise<Example> | Example): OperationExample => ({
    async make(world) {
      const params = { roomId: await world.aRoom(), attachmentId: anAttachmentId() };
      const path = (rest: string) => attachmentAt(params.roomId, params.attachmentId, rest);
      if (kind === 'back end') return then({ base: '', query: { userId: 'u' }, path, params }, world);
      const bearer = await accessTokenFor(world.server, { userId: 'u' });
      return then({ base: '/c', query: {}, bearer, path: (rest) => `/c${path(rest)}`, params }, world);
    },
  });

async function begun(place: Place, { call }: World): Promise<Record<string, string>> {
  const { uploadId } = (await call(`POST ${place.path('/multipart/a.txt')}`, as(place))).json;
  return { ...place.params, uploadId };
}

function uploading(kind: 'back end' | 'client', base: string): Examples {
  const example = inANewPlace(kind);
  return {
    [`PUT ${base}/{attachmentId}/upload/{name}`]: example((place) => ({
      ...as(place),
      params: { ...place.params, name: 'a.txt' },
      query: { ...place.query, fileSize: '0' },
      bytes: NOTHING,
    })),
    [`POST ${base}/{attachmentId}/multipart/{name}`]: example((place) => ({
      ...as(place),
      params: { ...place.params, name: 'a.txt' },
      query: { fileSize: '0' },
    })),
    [`PUT ${base}/{attachmentId}/multipart/{uploadId}/{partNumber}`]: example(async (place, world) => ({
      ...as(place),
      params: { ...(await begun(place, world)), partNumber: '1' },
      bytes: NOTHING,
    })),
    [`POST ${base}/{attachmentId}/multipart/{uploadId}/complete`]: {
      ...example(async (place, world) => {
        const params = await begun(place, world);
        const body = { body: 'hello', contentType, ...as(place) };
        const part = await world.call(`PUT ${place.path(`/multipart/${params.uploadId}/1`)}`, body);
        return { ...as(place), params, query: place.query, json: { parts: [part.json] } };
      }),
      refersTo: ['parts', 'parts.0.partNumber', 'parts.0.etag'],
    },
    [`DELETE ${base}/{attachmentId}/multipart/{uploadId}`]: example(async (place, world) => ({
      ...as(place),
      params: await begun(place, world),
    })),
  };
}

const FOR_BACK_ENDS = '/v2/rooms/{roomId}/attachments';
const FOR_CLIENTS = '/v2/c/rooms/{roomId}/attachments';

export const ATTACHMENT_EXAMPLES: Examples = {
  [`GET ${FOR_BACK_ENDS}/{attachmentId}`]: inANewPlace('back end')(async ({ path, params }, { call }) => {
    await call(`PUT ${path('/upload/a.txt?userId=u')}`, { body: 'hello', contentType });
    return { params };
  }),
  ...uploading('back end', FOR_BACK_ENDS),
  ...uploading('client', FOR_CLIENTS),
  [`POST ${FOR_CLIENTS}/presigned-urls`]: inANewPlace('client')((place) => ({
    ...as(place),
    params: { roomId: place.params.roomId },
    json: { attachmentIds: [place.params.attachmentId] },
  })),
};
