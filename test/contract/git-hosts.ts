// The contract of Git hosts: what every kind has to do for a connected repository, from the list to the comment on a
// pull request, and what the platform refuses. Called by git-hosts-*.test.ts.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { cloneSource } from '#git/clone-source.ts';
import { gitEnvironment } from '#git/git-environment.ts';
import type { ConnectedHost } from '#test/setup/connected-host.ts';
import type { ContractHost, ContractRepository, RawDelivery } from '#test/setup/contract-hosts.ts';
import { runGit } from '#test/setup/git-repositories.ts';

/** How each event becomes known, by event. */
type Column = Record<string, string>;

/** Runs the contract over several hosts at once, and prints a table: event by host. */
export async function gitHostsContract(
  t: TestContext,
  connected: ConnectedHost,
  hosts: readonly ContractHost[],
): Promise<void> {
  const columns: [string, Column][] = [];
  for (const host of hosts)
    await t.test(host.title, async (inner) => {
      columns.push([host.title, await gitHostContract(inner, connected, host)]);
    });
  for (const host of hosts) await host.close();
  const events = [...new Set(columns.flatMap(([, column]) => Object.keys(column)))];
  const line = (name: string, cells: readonly string[]): string =>
    `${name.padEnd(66)}${cells.map((cell) => cell.padEnd(14)).join('')}`.trimEnd();
  const titles = columns.map(([title]) => title);
  const lines = events.map((event) =>
    line(
      event,
      columns.map(([, column]) => column[event] ?? 'failed'),
    ),
  );
  t.diagnostic([line('event', titles), ...lines].join('\n'));
}

/** Runs the contract over one host. */
async function gitHostContract(t: TestContext, connected: ConnectedHost, host: ContractHost): Promise<Column> {
  const { control } = connected;
  const { sql } = control;
  const column: Column = {};
  const step = async (event: string, run: () => Promise<string | void>): Promise<void> => {
    await t.test(event, async () => {
      column[event] = (await run()) ?? 'webhook';
    });
  };
  const newest = async (projectId: string) => (await connected.deployments(projectId)).at(-1)!;
  const record = async ({ repositoryId }: ContractRepository): Promise<[string, string | null]> => {
    const [row] = await sql<{ full_name: string; disconnect_reason: string | null }[]>`
      SELECT full_name, disconnect_reason FROM control.repository WHERE id = ${repositoryId}`;
    return [row!.full_name, row!.disconnect_reason];
  };
  const release = async (projectId: string): Promise<void> => {
    const { id } = await newest(projectId);
    await sql`UPDATE control.deployment SET status = 'success' WHERE id = ${id}`;
    await connected.work();
  };
  const post = async ({ url, headers, body }: RawDelivery): Promise<[number, string]> => {
    const answer = await control.fetch(new Request(url, { method: 'POST', headers, body }));
    const { code, outcome } = (await answer.json()) as { code?: string; outcome?: string };
    return [answer.status, code ?? outcome ?? ''];
  };
  const deps = () => ({
    sql,
    keys: control.deps.keys,
    folder: control.deps.folder,
    gitHost: control.deps.git.gitHost,
    privateHosts: control.deps.git.privateHosts,
  });

  let shop!: ContractRepository;
  await step('repository listed, searched and connected', async () => {
    shop = await host.connect('shop');
    await host.connect('blog');
    assert.deepEqual(await host.search('sho'), ['acme/shop']);
    assert.deepEqual([...(await host.search(''))].sort(), ['acme/blog', 'acme/shop']);
    assert.deepEqual(await host.search('nothing'), []);
    return 'API';
  });

  let first = '';
  await step('push', async () => {
    first = await shop.push('main', { 'index.html': 'hi' }, 'First');
    const row = await newest(shop.projectId);
    assert.deepEqual(
      [row.branch, row.target, row.status, row.commit_sha, row.commit_message.trim(), row.author],
      ['main', 'production', 'queued', first, 'First', 'ada'],
    );
    await shop.push('topic', { 'index.html': 'topic' }, 'Topic [skip ci]');
    assert.deepEqual((await newest(shop.projectId)).reason, 'skipped');
  });

  await step('clone', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'platform-clone-'));
    try {
      const source = await cloneSource(deps(), shop.repositoryId);
      assert.ok('url' in source);
      const env = { PATH: process.env['PATH'], ...(await gitEnvironment(source, folder)) };
      const target = path.join(folder, 'clone');
      const [code] = (await once(
        spawn('git', ['clone', '-q', '--', source.url, target], { env, stdio: 'ignore' }),
        'close',
      )) as [number];
      assert.equal(code, 0);
      assert.equal(runGit(target, ['rev-parse', 'HEAD']), first);
      const config = runGit(target, ['config', '--list', '--local']);
      for (const secret of source.redact) assert.ok(!config.includes(secret));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    return 'git';
  });

  await step('commit status', async () => {
    const site = await host.connect('status');
    const sha = await site.push('main', { a: '1' });
    await release(site.projectId);
    assert.deepEqual(site.statuses(), [
      [sha, host.words.pending],
      [sha, host.words.success],
    ]);
    return 'API';
  });

  await step('pull request opened, updated and closed, with one comment', async () => {
    const sha = await shop.push('change', { a: '1' });
    await shop.pullRequest({ action: 'opened', number: 7, branch: 'change', sha, title: 'A change' });
    assert.equal(shop.comments().length, 1);
    assert.match(shop.comments()[0]!, /Waiting for a builder/);
    const next = await shop.push('change', { a: '2' });
    await shop.pullRequest({ action: 'updated', number: 7, branch: 'change', sha: next, title: 'A change' });
    await release(shop.projectId);
    assert.equal((await newest(shop.projectId)).pull_request, 7);
    assert.equal(shop.comments().length, 1);
    assert.match(shop.comments()[0]!, new RegExp(`Deployed.*${next.slice(0, 7)}`));
    await shop.pullRequest({ action: 'closed', number: 7, branch: 'change', sha: next, title: 'A change' });
    await shop.push('change', { a: '3' });
    assert.equal((await newest(shop.projectId)).pull_request, null);
  });

  await step('pull request of a fork', async () => {
    const about = { number: 8, branch: 'main', sha: first, title: 'From a stranger', isFork: true } as const;
    const count = (await connected.deployments(shop.projectId)).length;
    await shop.pullRequest({ action: 'opened', ...about });
    if (!host.hasForks) {
      assert.equal((await connected.deployments(shop.projectId)).length, count);
      return 'not supported';
    }
    const row = await newest(shop.projectId);
    assert.deepEqual([row.is_fork, row.status, row.source, row.author], [true, 'queued', 'pull_request', 'mallory']);
    const jobs = await sql`SELECT FROM control.job WHERE deployment_id = ${row.id}`;
    assert.equal(jobs.length, 0, 'it is not built before it is approved');
    await shop.pullRequest({ action: 'closed', ...about });
    assert.equal((await connected.deployments(shop.projectId)).find(({ id }) => id === row.id)!.status, 'canceled');
  });

  await step('branch deleted', async () => {
    await shop.push('old', { a: '1' });
    const { id } = await newest(shop.projectId);
    await shop.deleteBranch('old');
    const row = (await connected.deployments(shop.projectId)).find((each) => each.id === id)!;
    assert.deepEqual([row.status, row.reason], ['canceled', 'branch_removed']);
  });

  await step('forged, unsigned, changed, huge and repeated deliveries refused', async () => {
    await shop.push('signed', { a: '1' });
    const count = (await connected.deployments(shop.projectId)).length;
    const { delivery, signature, id } = shop.lastDelivery();
    const { [signature]: _, ...unsigned } = delivery.headers;
    const forged = `${delivery.headers[signature]!.slice(0, -1)}${delivery.headers[signature]!.endsWith('0') ? '1' : '0'}`;
    assert.deepEqual(await post({ ...delivery, headers: unsigned }), [401, 'signature_invalid']);
    assert.deepEqual(await post({ ...delivery, headers: { ...delivery.headers, [signature]: forged } }), [
      401,
      'signature_invalid',
    ]);
    const isOverBody = !signature.endsWith('token');
    if (isOverBody)
      assert.deepEqual(await post({ ...delivery, body: `${delivery.body} ` }), [401, 'signature_invalid']);
    const long = { ...delivery.headers, 'content-length': '30000000' };
    assert.deepEqual(await post({ ...delivery, headers: long }), [413, 'payload_too_large']);
    assert.deepEqual(await post(delivery), [202, 'replayed']);
    await sql`UPDATE control.webhook_received SET received_at = received_at - interval '1 minute'`;
    const again = { ...delivery.headers, [id]: 'another-id-of-it' };
    assert.deepEqual(await post({ ...delivery, headers: again }), [202, isOverBody ? 'replayed' : 'accepted']);
    await shop.push('later', { a: '1' });
    const rows = await connected.deployments(shop.projectId);
    // Without a signature over the body, it is taken again, and finds that the branch is deployed as it is.
    assert.equal(rows.length, count + 1);
    return isOverBody ? 'by signature' : 'by token';
  });

  await step('host away: reported later', async () => {
    const site = await host.connect('away');
    const sha = await site.push('main', { a: '1' });
    host.fail(Array.from({ length: 3 }, () => 500));
    await sql`UPDATE control.git_report SET due_at = now(), told = NULL WHERE due_at IS NULL
               AND deployment_id = ${(await newest(site.projectId)).id}`;
    await release(site.projectId);
    assert.deepEqual(site.statuses().length, 1);
    await sql`UPDATE control.git_report SET due_at = now() WHERE due_at IS NOT NULL`;
    await connected.work();
    assert.deepEqual(site.statuses().at(-1), [sha, host.words.success]);
    return 'retried';
  });

  await step('credentials expired: the build says so', async () => {
    if (host.expire === null) return 'renewed';
    host.expire(true);
    await assert.rejects(cloneSource(deps(), shop.repositoryId), {
      message: new RegExp(`^${host.title} .* refused the access token: it has expired or was revoked`),
    });
    await release(shop.projectId);
    host.expire(false);
    return 'error';
  });

  await step('repository renamed', async () => {
    const how = await shop.rename('acme/store');
    assert.deepEqual(await record(shop), ['acme/store', null]);
    await shop.push('main', { a: '5' });
    assert.equal((await newest(shop.projectId)).branch, 'main');
    return how;
  });

  await step('repository moved to another owner, and archived', async () => {
    const site = await host.connect('moved');
    const how = await site.rename('others/moved');
    if (!host.isMoved) {
      assert.match((await record(site))[1]!, /^the repository was deleted on the Git host, or its account can no/);
      return 'disconnected';
    }
    assert.deepEqual(await record(site), ['others/moved', null]);
    assert.equal(await site.archive(true), how);
    assert.deepEqual((await record(site))[1], 'the repository was archived on the Git host');
    await site.archive(false);
    assert.deepEqual((await record(site))[1], null);
    return how;
  });

  await step('repository deleted', async () => {
    const site = await host.connect('gone');
    await site.push('main', { a: '1' });
    const how = await site.remove();
    assert.match((await record(site))[1]!, /^the repository was deleted on the Git host/);
    assert.equal((await connected.deployments(site.projectId)).length, 1);
    return how;
  });
  return column;
}
