/**
 * Tokens for visitors of the live demo at `/`. It opens to anybody, so it is only there where the settings allow it, and its tokens open the
 * rooms of the demo alone.
 */
import Type from 'typebox';
import { type BoundRoute, bindRoute, routeFor } from '../../kernel/transport/route.ts';

export interface DemoDeps {
  /** An access token, as POST /v2/authorize-user issues it. */
  issueToken(request: {
    userId: string;
    permissions: Record<string, string[]>;
    userInfo: { name: string; color: string };
  }): Promise<string>;
}

/** Rooms that a visitor may make and fill. */
const PERMISSIONS = { demo: ['*:write'], 'demo:*': ['*:write'] };

/** The name that is seen is made of it: two words and four letters or digits. */
const VISITOR_ID = '^[a-z]{2,12}-[a-z]{2,12}-[a-z0-9]{4}$';

const TokenBody = Type.Object(
  {
    userId: Type.String({ pattern: VISITOR_ID, description: 'Made up by the page, as `brisk-otter-7f3k`.' }),
    color: Type.String({ pattern: '^#[0-9a-f]{6}$', description: 'Of the cursor.' }),
  },
  { additionalProperties: false },
);

const route = routeFor<DemoDeps>();

export const demoTokenRoute = route({
  method: 'POST',
  path: '/demo/token',
  needs: 'none',
  tag: 'Demo',
  summary: 'Issue a token for the rooms of the live demo to anybody',
  body: TokenBody,
  reply: Type.Object({ token: Type.String({ description: 'A JWT.' }) }),
  async handle({ body: { userId, color } }, { issueToken }) {
    const userInfo = { name: nameOf(userId), color };
    return { token: await issueToken({ userId, permissions: PERMISSIONS, userInfo }) };
  },
});

/** `brisk-otter-7f3k` is Brisk Otter. */
function nameOf(userId: string): string {
  const [first = '', second = ''] = userId.split('-');
  return [first, second].map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(' ');
}

export function demoRoutes(deps: DemoDeps): BoundRoute[] {
  return [bindRoute(demoTokenRoute, deps)];
}
