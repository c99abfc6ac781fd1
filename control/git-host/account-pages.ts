// Pages on which a member connects an account on a Git host by its OAuth application. First a page of the platform asks
// for confirmation, since this gives an organization access; then the member goes to the host, and the grant is stored
// on return.
import { isFailure } from '#core/failure.ts';
import Type from '#core/typebox/typebox.mjs';
import { openClient } from '#git/host/grants.ts';
import { exchangeCode, grantUrl, revokeGrant, type Grant, type OAuthClient } from '#git/host/oauth.ts';
import { tokenHostKinds } from '#git/host/token-hosts.ts';
import { platform } from '#packages/worker/index.ts';
import { roleMay, type Role } from '../access/permissions.ts';
import { ApiError } from '../http/errors.ts';
import { Id } from '../http/schemas.ts';
import { writeAudit } from '../records/audit.ts';
import { cookiesOf } from '../sign-in/cookies.ts';
import { verifierOf } from '../sign-in/git-host-oauth.ts';
import { safePath } from '../sign-in/origin.ts';
import { goTo, html, page } from '../sign-in/pages.ts';
import { beginFlow, endFlow } from '../sign-in/provider-flow.ts';
import { signInFirst, type UiRequest } from '../sign-in/ui-request.ts';
import { connectAccount } from './accounts.ts';
import { findHost, type HostRow } from './hosts.ts';
import { grantCallback, grantPage } from './oauth-client.ts';

const STATE = 'git-account-state';
const TITLE = 'Connect an account';
const CODE = /^[\x21-\x7e]{1,2000}$/;

const asked = {
  organization: Id,
  redirect: Type.Optional(Type.String({ maxLength: 2048 })),
};

/** Data stored with the OAuth state of a visit to the host. */
interface Subject {
  readonly hostId: string;
  readonly organizationId: string;
}

export const accountPages = platform<UiRequest>()
  .get('/api/auth/git-hosts/:hostId/connect', { query: Type.Object(asked) }, async (ctx) => {
    const { env } = ctx;
    const { organization, redirect = '/' } = ctx.query;
    const back = safePath(redirect, env.addresses.ui);
    const path = grantPage(ctx.params.hostId);
    const query = new URLSearchParams({ organization, redirect: back });
    if (env.session === null) return signInFirst(`${path}?${query}`);
    const name = await needAdmin(env, env.session.accountId, organization);
    const { host } = await hostWithClient(env, ctx.params.hostId);
    const { title, oauth } = tokenHostKinds[host.kind];
    return page(
      `${TITLE} on ${host.name}`,
      html`<p>
          Members of <strong>${name}</strong> can then deploy every repository that your account on
          <strong>${new URL(host.url).host}</strong> (${title}) administers.
        </p>
        <form method="post" action="${path}">
          <input type="hidden" name="organization" value="${organization}" />
          <input type="hidden" name="redirect" value="${back}" />
          <button class="first">Continue</button><a class="button" href="${back}">Cancel</a>
        </form>`,
      { formsTo: new URL(oauth.baseUrl(host.url)).origin },
    );
  })
  .post('/api/auth/git-hosts/:hostId/connect', { bodyType: 'form', body: Type.Object(asked) }, async (ctx) => {
    const { env } = ctx;
    if (env.session === null) return signInFirst('/');
    const { organization: organizationId, redirect = '/' } = ctx.body;
    const { accountId } = env.session;
    await needAdmin(env, accountId, organizationId);
    const { host, client } = await hostWithClient(env, ctx.params.hostId);
    const { ui } = env.addresses;
    const subject = JSON.stringify({ hostId: host.id, organizationId } satisfies Subject);
    const { state, cookie } = await beginFlow(env, STATE, safePath(redirect, ui), { linkTo: accountId, subject });
    const verifier = verifierOf(state, env.signIn.secret);
    const redirectUrl = `${ui}${grantCallback(host.id)}`;
    return goTo(grantUrl(host, { clientId: client.clientId, redirectUrl, state, verifier }), [cookie]);
  })
  .get('/api/auth/callback/git-hosts/:hostId', async (ctx) => {
    const { env } = ctx;
    const query = ctx.url.searchParams;
    const flow = await endFlow(env, STATE, query, ctx.req.headers);
    const subject = flow?.subject == null ? null : (JSON.parse(flow.subject) as Subject);
    if (flow === null || subject === null || env.session === null || subject.hostId !== ctx.params.hostId)
      return explained(
        'This took too long, was started in another browser, or was already completed. Begin again.',
        '/',
        400,
      );
    const { accountId } = env.session;
    await needAdmin(env, accountId, subject.organizationId);
    const { host, client } = await hostWithClient(env, subject.hostId);
    const [code = '', ...more] = query.getAll('code');
    if (query.has('error') || more.length > 0 || !CODE.test(code))
      return explained(refusal(query.get('error'), host), flow.redirect, 400);
    let grant: Grant | null = null;
    try {
      const redirectUrl = `${env.addresses.ui}${grantCallback(host.id)}`;
      const verifier = verifierOf(flow.state, env.signIn.secret);
      grant = await exchangeCode(env.git, host, client, { code, redirectUrl, verifier });
      const { organizationId } = subject;
      await connectAccount(env, host, { organizationId, credential: { grant } }, (tx, subjectId, name) =>
        writeAudit(tx, sourceOf(env, accountId), {
          organizationId,
          action: 'git_account.connect',
          subjectKind: 'git_account',
          subjectId,
          details: { name, credential: 'grant' },
        }),
      );
      const cookies = cookiesOf(env.addresses.ui);
      return goTo(flow.redirect, [cookies.clear(cookies.flow)]);
    } catch (error) {
      if (!isFailure(error, 'git_host') && !(error instanceof ApiError)) throw error;
      env.log.warn({ reason: error.message, host: host.id }, 'The account of a Git host could not be connected');
      if (grant !== null) await revoked(env, host, client, grant);
      return explained(`${error.message}.`.replace(/\.\.$/, '.'), flow.redirect, 422);
    }
  });

/** The name of an organization whose accounts the person may change. @throws {ApiError} */
async function needAdmin({ sql }: UiRequest, accountId: string, organizationId: string): Promise<string> {
  const [row] = await sql<{ name: string; role: Role }[]>`
    SELECT organization.name, role FROM control.membership
      JOIN control.organization ON organization.id = organization_id
     WHERE organization_id = ${organizationId} AND account_id = ${accountId}`;
  if (row === undefined) throw new ApiError('not_found');
  if (!roleMay(row.role, 'organization:write')) throw new ApiError('forbidden', { permission: 'organization:write' });
  return row.name;
}

/** @throws {ApiError} `not_found`, `not_available` without an OAuth application. */
async function hostWithClient(
  { sql, keys }: UiRequest,
  hostId: string,
): Promise<{ readonly host: HostRow; readonly client: OAuthClient }> {
  const host = await findHost(sql, hostId);
  const client = openClient(keys, host);
  if (client === null)
    throw new ApiError('not_available', {
      reason: `${host.name} has no OAuth application: the operator sets one, or connect the account by an access token`,
    });
  return { host, client };
}

/** Explanation of the host's error. The description may contain any text. */
function refusal(error: string | null, { name }: HostRow): string {
  if (error === 'access_denied') return `Access was refused at ${name}.`;
  if (error === 'invalid_scope')
    return `The OAuth application on ${name} lacks a scope: the operator of this platform adds it there.`;
  return `${name} did not answer as it should. Begin again.`;
}

async function revoked({ git, log }: UiRequest, host: HostRow, client: OAuthClient, grant: Grant): Promise<void> {
  try {
    await revokeGrant(git, host, client, grant);
  } catch (error) {
    log.warn({ reason: (error as Error).message, host: host.id }, 'The grant could not be revoked on the Git host');
  }
}

function sourceOf({ address }: UiRequest, accountId: string) {
  const actor = { accountId, isOperator: false, token: null, sessionId: null, endsWith: null, memberships: {} };
  return { actor, address, requestId: null };
}

function explained(problem: string, back: string, status: number) {
  return page(
    TITLE,
    html`<p role="alert">${problem}</p>
      <p><a class="button" href="${back}">Back</a></p>`,
    { status },
  );
}
