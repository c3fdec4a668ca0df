/** The API about itself: the OpenAPI document of all routes, and the same as a page to read. */
import { type ApiInfo, openApiOf } from './openapi.ts';
import { REFERENCE_HEADERS, referencePageOf } from './reference.ts';
import { type BoundRoute, bytes, withHeaders } from './route.ts';

const tag = 'About';

/** Both are made when first asked for; the routes do not change. */
export function aboutRoutes({ routes, info }: { readonly routes: readonly BoundRoute[]; readonly info: ApiInfo }): BoundRoute[] {
  let document: Uint8Array | null = null;
  let page: Uint8Array | null = null;
  const openApi: BoundRoute = {
    method: 'GET',
    path: '/openapi.json',
    needs: 'none',
    tag,
    summary: 'This API as OpenAPI 3.1',
    reply: bytes('application/json; charset=utf-8'),
    run() {
      document ??= Buffer.from(JSON.stringify(openApiOf(all, info)));
      return document;
    },
  };
  const reference: BoundRoute = {
    method: 'GET',
    path: '/docs',
    needs: 'none',
    tag,
    summary: 'This API as a page to read',
    reply: bytes('text/html; charset=utf-8'),
    run() {
      page ??= Buffer.from(referencePageOf(openApiOf(all, info)));
      return withHeaders(page, REFERENCE_HEADERS);
    },
  };
  const own = [openApi, reference];
  const all = [...routes, ...own];
  return own;
}
