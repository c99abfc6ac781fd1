// Pages on which an operator creates the platform's application on a host with GitHub's API: they redirect there with a
// manifest, and handle the returned code.
import { isFailure } from '#core/failure.ts';
import Type from '#core/typebox/typebox.mjs';
import { applicationManifest, exchangeManifestCode, manifestUrl, PUBLIC_GITHUB } from '#git/host/application.ts';
import { platform } from '#packages/worker/index.ts';
import { ApiError } from '../http/errors.ts';
import { writeAudit } from '../records/audit.ts';
import { cookiesOf } from '../sign-in/cookies.ts';
import { safePath } from '../sign-in/origin.ts';
import { html, page } from '../sign-in/pages.ts';
import { beginFlow, endFlow } from '../sign-in/provider-flow.ts';
import { signInFirst, type UiRequest } from '../sign-in/ui-request.ts';
import { APPLICATION_PATH, creationProblem, githubUrl, storeApplication } from './application.ts';

const APPLICATION_CALLBACK = '/api/auth/callback/git-host-application';
const STATE = 'application-state';
/** How long GitHub's code is valid, since a person may have to sign in there first. */
const STATE_SECONDS = 3600;
const BACK = '/setup';
const OPEN = html` open`;

const Text = (maxLength: number) => Type.Optional(Type.String({ maxLength }));

export const applicationPages = platform<UiRequest>()
  .get(
    APPLICATION_PATH,
    {
      query: Type.Object({
        url: Text(2048),
        organization: Type.Optional(Type.String({ pattern: '^(?:[A-Za-z0-9][A-Za-z0-9-]{0,38})?$' })),
        redirect: Text(2048),
      }),
    },
    async (ctx) => {
      const { env } = ctx;
      const { url: asked = '', organization = '', redirect = BACK } = ctx.query;
      const back = safePath(redirect, env.addresses.ui);
      const query = new URLSearchParams({ url: asked, organization, redirect: back });
      if (env.session === null) return signInFirst(`${APPLICATION_PATH}?${query}`);
      await needOperator(env, env.session.accountId);
      const problem = creationProblem(env);
      if (problem !== null) return explained(problem, back, 409);
      const typed = asked.trim();
      let url: string;
      try {
        url = githubUrl(env, typed);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        return explained(error.message, back, error.status, otherHost(back, typed, organization));
      }
      const purpose = { linkTo: env.session.accountId, subject: url };
      const { state, cookie } = await beginFlow(env, STATE, back, purpose, STATE_SECONDS);
      const { api, ui } = env.addresses;
      const manifest = JSON.stringify(applicationManifest({ api, ui, callback: APPLICATION_CALLBACK }));
      const { host, origin } = new URL(url);
      const answer = page(
        'Connect GitHub',
        html`<p>
            The platform becomes a GitHub App on <strong>${host}</strong>. It reads the repositories for which you
            install it, and reports deployments there. You only choose its name.
          </p>
          <form method="post" action="${manifestUrl(url, organization, state)}">
            <input type="hidden" name="manifest" value="${manifest}" />
            <button class="first">Create the app on ${host}</button><a class="button" href="${back}">Cancel</a>
          </form>
          ${otherHost(back, url === PUBLIC_GITHUB ? '' : url, organization)}`,
        { formsTo: origin },
      );
      answer.headers.append('set-cookie', cookie);
      return answer;
    },
  )
  .get(APPLICATION_CALLBACK, async (ctx) => {
    const { env } = ctx;
    const query = ctx.url.searchParams;
    const flow = await endFlow(env, STATE, query, ctx.req.headers);
    const code = query.getAll('code');
    const url = flow?.subject ?? null;
    if (flow === null || url === null || env.session === null || code.length !== 1 || !/^[\w-]{1,200}$/.test(code[0]!))
      return explained(
        'This took too long, was started in another browser, or was already completed. Begin again.',
        APPLICATION_PATH,
        400,
      );
    const { accountId } = env.session;
    await needOperator(env, accountId);
    const problem = creationProblem(env);
    if (problem !== null) return explained(problem, flow.redirect, 409);
    try {
      const application = await exchangeManifestCode(url, code[0]!, env.git.privateHosts);
      await storeApplication(env, application, accountId, (tx, { slug }) =>
        writeAudit(tx, sourceOf(env, accountId), {
          organizationId: null,
          action: 'git_host.create',
          subjectKind: 'git_host',
          subjectId: null,
          details: { kind: 'github', name: slug, url },
        }),
      );
      const install = `${url}/apps/${encodeURIComponent(application.slug)}/installations/new`;
      const cookies = cookiesOf(env.addresses.ui);
      const answer = page(
        'The GitHub App was created',
        html`<p>
            <strong>${application.slug}</strong> works at once, without a restart. Install it for the repositories that
            you want to deploy.
          </p>
          <p>
            <a class="button first" href="${install}">Choose repositories</a>
            <a class="button" href="${flow.redirect}">Later</a>
          </p>`,
      );
      answer.headers.append('set-cookie', cookies.clear(cookies.flow));
      return answer;
    } catch (error) {
      if (!isFailure(error, 'git_host')) throw error;
      env.log.warn({ reason: error.message }, 'The application of the Git host could not be created');
      return explained(`${error.message}. Begin again.`, `${APPLICATION_PATH}?${new URLSearchParams({ url })}`, 502);
    }
  });

/** @throws {ApiError} `forbidden` */
async function needOperator({ sql }: UiRequest, accountId: string): Promise<void> {
  const [row] = await sql`SELECT FROM control.account WHERE id = ${accountId} AND is_admin`;
  if (row === undefined) throw new ApiError('forbidden', { permission: 'operator' });
}

function sourceOf({ address }: UiRequest, accountId: string) {
  const actor = { accountId, isOperator: true, token: null, sessionId: null, endsWith: null, memberships: {} };
  return { actor, address, requestId: null };
}

function otherHost(back: string, url: string, organization: string) {
  return html`<details${url === '' && organization === '' ? null : OPEN}>
    <summary>For an organization, or GitHub Enterprise</summary>
    <form method="get" action="${APPLICATION_PATH}">
      <input type="hidden" name="redirect" value="${back}" />
      <label for="organization">Organization on GitHub that owns the app</label>
      <input id="organization" name="organization" value="${organization}" maxlength="39" autocomplete="off" spellcheck="false" />
      <label for="url">URL of GitHub Enterprise</label>
      <input id="url" name="url" type="url" value="${url}" maxlength="2048" placeholder="https://github.example.com" autocomplete="off" />
      <button>Use these</button>
    </form>
  </details>`;
}

function explained(problem: string, back: string, status: number, more: ReturnType<typeof html> | null = null) {
  return page(
    'Connect GitHub',
    html`<p role="alert">${problem}</p>
      ${more}
      <p><a class="button" href="${back}">Back</a></p>`,
    { status },
  );
}
