// The authorization walk: every route of the API description, asked as everybody who may come. Prints a table of
// routes, roles and verdicts; fails for a route that declares no access, and for a hole.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { defaultLimits } from '#core/limits.ts';
import { permissions, roleMay, scopeMay, type Role } from '#control/access/permissions.ts';
import { startControl, type TestControl } from '#test/setup/control.ts';
import {
  makeScene,
  readOperations,
  sampleRequest,
  walkers,
  type Operation,
  type Scene,
  type Walker,
} from '#test/setup/control-walk.ts';

/** What is right: to be let in, or to be sent away with a status. */
type Verdict = 'in' | 401 | 403 | 404;

/** Routes that everybody may ask, each for a reason of its own. */
const openRoutes: Readonly<Record<string, string>> = {
  'GET /health': 'says ok',
  'POST /oauth/device': 'begins a login, which somebody signed in has to confirm',
  'POST /oauth/token': 'takes a code, once',
  'POST /oauth/revoke': 'takes the token that is to end',
  'POST /webhooks/git-host': 'takes a signature',
  'POST /webhooks/git-host/{hostId}/{repositoryId}': 'takes a signature',
  'POST /webhooks/remote/{token}': 'the URL is the secret, and only asks to look at the remote',
  'POST /deploy-hooks/{token}': 'the URL is the secret',
};

/** Changes that have no row of the audit log: nothing of an organization changes. */
const unaudited: readonly string[] = ['POST /projects/{id}/uploads', 'PUT /uploads/{id}'];

function expected(walker: Walker, { path, permission, isAboutOrganization }: Operation): readonly Verdict[] {
  if (permission === null) return ['in', 401, 403, 404];
  if (walker === 'nobody' || walker === 'expired' || walker === 'revoked') return [401];
  if (permission === 'operator') return [403];
  const scope = walker === 'owner read' ? 'read' : walker === 'owner deploy' ? 'deploy' : null;
  if (!scopeMay(scope, permission)) return [403];
  // What concerns the account itself: everybody has their own; a token of one project does not reach all of it.
  if (permissions[permission][0] === null) return walker === 'other project' ? ['in', 403, 404] : ['in', 404];
  // It lists that project alone.
  if (walker === 'other project' && path === '/orgs/{id}/projects') return ['in'];
  if (walker === 'stranger' || walker === 'other project') return isAboutOrganization ? [404] : ['in'];
  const role: Role = walker === 'viewer' || walker === 'member' || walker === 'admin' ? walker : 'owner';
  return roleMay(role, permission) ? ['in'] : [403];
}

/** Whether those who may look can find nothing: what engines hold, which do not run in this test. */
function mayMiss({ path }: Operation): boolean {
  return /\{(?!id\}|orgId|projectId|deploymentId|variableId|accountId|invitationId|tokenId)/.test(path);
}

let control: TestControl;
let scene: Scene;
before(async () => {
  // No rate limit: a 429 proves nothing.
  control = await startControl({ limits: { ...defaultLimits.control, requestsPerMinute: 1_000_000 } });
  scene = await makeScene(control);
});
after(() => control.close());

test('every route lets in whom its permission allows, and nobody else', async (t) => {
  const operations = await readOperations(control);
  const holes: string[] = [];
  const rows: string[] = [];
  for (const operation of operations) {
    const { name, method, permission } = operation;
    if (operation.security === undefined) holes.push(`${name} declares no access`);
    else if (permission === null && openRoutes[name] === undefined)
      holes.push(`${name} is open, and not listed as such`);
    const verdicts: string[] = [];
    for (const walker of walkers) {
      const { path, body } = sampleRequest(scene, operation);
      const before = await scene.audited();
      const answer = await control.call(method, path, body, scene.tokenOf(walker));
      const { status } = answer;
      const written = (await scene.audited()) - before;
      const verdict: Verdict = status === 401 || status === 403 || status === 404 ? status : 'in';
      const right = expected(walker, operation);
      const says = `${name} as ${walker}: ${status} ${answer.body?.code ?? ''} ${answer.body?.message ?? ''}`;
      if (!right.includes(verdict) && !(verdict === 404 && right.includes('in') && mayMiss(operation)))
        holes.push(`${says}, expected ${right.join(' or ')}`);
      if (answer.body?.code === 'internal' || status === 429) holes.push(says);
      if (status >= 400 && written > 0) holes.push(`${says}, and a row in the audit log`);
      if (status < 300 && method !== 'GET' && permission !== null && !unaudited.includes(name) && written !== 1)
        holes.push(`${says}, and ${written} rows in the audit log`);
      verdicts.push(status < 400 ? `+${status}` : String(status));
      if (status < 300 && method !== 'GET') await scene.renew();
    }
    const cells = verdicts.map((text) => text.padEnd(8)).join('');
    rows.push(`${name.padEnd(62)} ${(permission ?? 'open').padEnd(20)} ${cells}`);
  }
  const heads = walkers.map((walker) => walker.replace('owner ', 'o:').replace('other project', 'other').padEnd(8));
  const table = [`${'route'.padEnd(62)} ${'permission'.padEnd(20)} ${heads.join('')}`, ...rows].join('\n');
  t.diagnostic(`\n${table}\n${operations.length} routes x ${walkers.length} walkers: ${holes.length} holes`);
  assert.deepEqual(holes, []);
});
