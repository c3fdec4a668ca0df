/**
 * The five endpoints of an upload, whole or in parts, wherever they answer (contract, Storage files; supplement 1.6 and 2.4; protocol 7.2). What is
 * uploaded, and who may, is said by their door.
 */
import Type, { type Static, type TProperties, type TSchema } from 'typebox';
import { AppError } from '../../base/errors.ts';
import { PART_NUMBER_MAX } from '../persistence/blob-parts.ts';
import {
  type KeepDeps,
  keepOfParts,
  keepWhole,
  newKey,
  placeOf,
  rowExists,
  sameRow,
  type UploadTarget,
} from '../persistence/kept-uploads.ts';
import type { UploadPlace } from '../persistence/upload-queries.ts';
import type { UploadedBlob } from '../persistence/upload-rows.ts';
import { announcedSize, checkUploadName, contentLengthOf, UPLOAD_NAME_BYTES_MAX } from '../persistence/upload-rules.ts';
import { abandonUpload, beginUpload, putPart } from '../persistence/uploads.ts';
import type { Need, Principal } from './principal.ts';
import { type BoundRoute, bindRoute, empty, json, routeFor, stream } from './route.ts';

/** Who uploads what: from the path, the query (where the door has one) and the credential. */
export interface UploadRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly principal: Principal;
}

/** Where uploads of one kind come in. */
export interface UploadDoor<Row extends UploadedBlob> {
  /** Ends with the id of what is uploaded. */
  readonly base: `/${string}`;
  /** Those of the base. */
  readonly params: TProperties;
  /** What the query of an upload must have when it becomes a row. */
  readonly query: TProperties;
  readonly needs: Need;
  readonly tag: string;
  /** Begins their summaries, as in `For the SDK: `; what they upload, as in `a file`. */
  readonly words: { readonly before: string; readonly what: string };
  /** What a row is answered as, and the name of the id where an upload begins. */
  readonly reply: { readonly schema: TSchema; readonly idKey: string; of(row: Row): unknown };
  /** @throws AppError when who asks may not, or what it would belong to is not there */
  target(request: UploadRequest, deps: KeepDeps): UploadTarget<Row> | Promise<UploadTarget<Row>>;
  /** Uploads that are elsewhere are told from those that never were: this answers for it. */
  elsewhere?(place: UploadPlace, deps: KeepDeps): Promise<AppError | null>;
}

const SIZE = {
  fileSize: Type.Optional(Type.Integer({ minimum: 0, description: 'In bytes. The file is refused when it has another size.' })),
};
type SizeQuery = { readonly fileSize?: number };
const name = Type.String({ description: `1 to ${UPLOAD_NAME_BYTES_MAX} bytes; a slash in it is sent as %2F.` });
const uploadId = Type.String({ description: 'As the upload began with.' });
const partNumber = Type.Integer({ minimum: 1, maximum: PART_NUMBER_MAX });
const Part = Type.Object({ partNumber, etag: Type.String({ maxLength: 128 }) }, { additionalProperties: false });
const PartReply = Type.Object({ partNumber, etag: Type.String() });
const CompleteBody = Type.Object(
  { parts: Type.Array(Part, { minItems: 1, maxItems: PART_NUMBER_MAX, description: 'All that were uploaded, in any order.' }) },
  { additionalProperties: false },
);
/** So many parts fit, whatever the bound of other bodies is. */
const COMPLETE_LIMITS = { bytesMax: 2_097_152 } as const;

const route = routeFor<KeepDeps>();
type Texts = Readonly<Record<string, string>>;

/** Repeating changes nothing, so it takes no Idempotency-Key. */
const uploadRoute = <Row extends UploadedBlob>(door: UploadDoor<Row>, bytesMax: number) =>
  route({
    method: 'PUT',
    path: `${door.base}/upload/:name`,
    needs: door.needs,
    tag: door.tag,
    summary: `${door.words.before}Upload ${door.words.what} in one request; the same again returns what is there`,
    params: Type.Object({ ...door.params, name }),
    query: Type.Object({ ...door.query, ...SIZE }),
    body: stream({ bytesMax }),
    reply: door.reply.schema,
    refuses: ['ROOM_NOT_FOUND', 'RESOURCE_ALREADY_EXISTS'],
    async handle({ params, query, body, request, principal }, deps) {
      const { name: given = '' } = params as Texts;
      const uploadName = checkUploadName(given);
      const { fileSize } = query as SizeQuery;
      const size = announcedSize({ fileSize, contentLength: contentLengthOf(request.headers) }, deps.bytesMax);
      const target = await door.target({ params: params as Texts, query: query as Texts, principal }, deps);
      const row = await target.find(deps.db);
      if (row === null) return door.reply.of(await keepWhole(target, { name: uploadName, body, size }, deps));
      sameRow(row, { name: uploadName, size: size ?? row.size }, target);
      return door.reply.of(sameRow(row, { name: uploadName, size: size ?? (await lengthOf(body)) }, target));
    },
  });

const beginRoute = <Row extends UploadedBlob>(door: UploadDoor<Row>) =>
  route({
    method: 'POST',
    path: `${door.base}/multipart/:name`,
    needs: door.needs,
    tag: door.tag,
    summary: `${door.words.before}Begin to upload ${door.words.what} in parts`,
    once: 'reservation',
    params: Type.Object({ ...door.params, name }),
    query: Type.Object(SIZE),
    reply: Type.Object({ [door.reply.idKey]: door.params[door.reply.idKey]!, uploadId: Type.String() }),
    refuses: ['ROOM_NOT_FOUND', 'RESOURCE_ALREADY_EXISTS', 'PAYLOAD_TOO_LARGE', 'ROOM_OVERLOADED'],
    async handle({ params, query, principal }, deps) {
      const { name: given = '' } = params as Texts;
      const about = { name: checkUploadName(given) };
      const { fileSize } = query as SizeQuery;
      const size = announcedSize({ fileSize, contentLength: null }, deps.bytesMax);
      const target = await door.target({ params: params as Texts, query: {}, principal }, deps);
      if ((await target.find(deps.db)) !== null) throw rowExists(target);
      const place = placeOf(target, deps.newId());
      if (!(await beginUpload(place, { key: newKey(target, deps), about, size }, deps))) throw new AppError('ROOM_OVERLOADED');
      return { [door.reply.idKey]: target.id, uploadId: place.id };
    },
  });

/** A part that comes again takes the place of the one before, so it takes no Idempotency-Key either. */
const partRoute = <Row extends UploadedBlob>(door: UploadDoor<Row>, bytesMax: number) =>
  route({
    method: 'PUT',
    path: `${door.base}/multipart/:uploadId/:partNumber`,
    needs: door.needs,
    tag: door.tag,
    summary: `${door.words.before}Upload a part: at least 5 MiB, if it is not the last`,
    params: Type.Object({ ...door.params, uploadId, partNumber }),
    body: stream({ bytesMax }),
    reply: PartReply,
    refuses: ['ROOM_NOT_FOUND', 'RESOURCE_NOT_FOUND', ...conflictOf(door)],
    async handle({ params, body, request, principal }, deps) {
      const { uploadId: id, partNumber: number } = params as unknown as { uploadId: string; partNumber: number };
      const place = placeOf(await door.target({ params: params as unknown as Texts, query: {}, principal }, deps), id);
      const part = { partNumber: number, body, size: contentLengthOf(request.headers) };
      return found(door, place, deps, putPart(place, part, deps));
    },
  });

/** Known again by its parts, for as long as the row is there. */
const completeRoute = <Row extends UploadedBlob>(door: UploadDoor<Row>) =>
  route({
    method: 'POST',
    path: `${door.base}/multipart/:uploadId/complete`,
    needs: door.needs,
    tag: door.tag,
    summary: `${door.words.before}Make ${door.words.what} of the parts; the same again returns it`,
    params: Type.Object({ ...door.params, uploadId }),
    query: Type.Object(door.query),
    body: json(CompleteBody, COMPLETE_LIMITS),
    reply: door.reply.schema,
    refuses: ['ROOM_NOT_FOUND', 'RESOURCE_NOT_FOUND', 'RESOURCE_ALREADY_EXISTS'],
    async handle({ params, query, body, principal }, deps) {
      const { uploadId: id = '' } = params as Texts;
      const { parts } = body as Static<typeof CompleteBody>;
      const target = await door.target({ params: params as Texts, query: query as Texts, principal }, deps);
      const kept = await found(door, placeOf(target, id), deps, keepOfParts(target, { uploadId: id, parts }, deps));
      return door.reply.of(kept);
    },
  });

const abortRoute = <Row extends UploadedBlob>(door: UploadDoor<Row>) =>
  route({
    method: 'DELETE',
    path: `${door.base}/multipart/:uploadId`,
    needs: door.needs,
    tag: door.tag,
    summary: `${door.words.before}Give an upload up; its parts are thrown away`,
    once: 'transaction',
    params: Type.Object({ ...door.params, uploadId }),
    reply: empty(204),
    refuses: ['ROOM_NOT_FOUND', 'RESOURCE_NOT_FOUND', ...conflictOf(door)],
    async handle({ params, principal }, deps) {
      const { uploadId: id = '' } = params as Texts;
      const place = placeOf(await door.target({ params: params as Texts, query: {}, principal }, deps), id);
      await found(door, place, deps, abandonUpload(place, deps));
    },
  });

export function uploadRoutes<Row extends UploadedBlob>(door: UploadDoor<Row>, deps: KeepDeps): BoundRoute[] {
  return [
    bindRoute(uploadRoute(door, deps.bytesMax), deps),
    bindRoute(beginRoute(door), deps),
    bindRoute(partRoute(door, deps.bytesMax), deps),
    bindRoute(completeRoute(door), deps),
    bindRoute(abortRoute(door), deps),
  ];
}

function conflictOf(door: Pick<UploadDoor<never>, 'elsewhere'>): 'RESOURCE_ALREADY_EXISTS'[] {
  return door.elsewhere === undefined ? [] : ['RESOURCE_ALREADY_EXISTS'];
}

/** The outcome; an upload that is not there may be told to be elsewhere. */
async function found<Outcome>(
  door: Pick<UploadDoor<never>, 'elsewhere'>,
  place: UploadPlace,
  deps: KeepDeps,
  outcome: Promise<Outcome>,
): Promise<Outcome> {
  return outcome.catch(async (error: unknown) => {
    const isUnknown = error instanceof AppError && error.code === 'RESOURCE_NOT_FOUND' && error.facts.kind === 'upload';
    throw (isUnknown ? await door.elsewhere?.(place, deps) : null) ?? error;
  });
}

async function lengthOf(body: AsyncIterable<Uint8Array>): Promise<number> {
  let length = 0;
  for await (const piece of body) length += piece.byteLength;
  return length;
}
