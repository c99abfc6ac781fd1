// From `platform domains add` to https: the command line, the API, a name server, the proof, Caddy and an authority, as
// an owner of a domain meets them; and what the commands say where one of them does not play along.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { startDnsServer, type DnsAnswer, type DnsServer } from '#test/setup/dns-server.ts';
import {
  AUTHORITY_PORT,
  get,
  handshake,
  selfSigned,
  startAuthority,
  startLimitingAuthority,
  type Authority,
} from '#test/setup/edge.ts';
import { eventually, startWholePlatform, type Json, type WholePlatform } from '#test/setup/whole-platform.ts';

const records = new Map<string, DnsAnswer>();
let authority: Authority;
let dns: DnsServer;
let platform: WholePlatform;
let files: string;
const folders = { shop: '', rival: '' };
const cli = (project: keyof typeof folders, ...args: string[]) => platform.cli(folders[project], ...args);
const said = async (project: keyof typeof folders, ...args: string[]): Promise<string> =>
  cli(project, ...args).then(
    ({ stdout }) => assert.fail(`it went well: ${stdout}`),
    (error: { stderr: string }) => error.stderr,
  );
/** Waits until a domain of `shop` is in a state; `platform domains` shows it with its problem. */
async function listed(host: string, state: string, problem: RegExp): Promise<void> {
  const { projectId } = JSON.parse(readFileSync(path.join(folders.shop, '.platform/project.json'), 'utf8')) as Json;
  await eventually(`${host} as ${state}`, async () => {
    const { items } = await platform.call('GET', `/projects/${projectId}/domains`);
    const found = items.find((one: Json) => one.hostname === host);
    assert.equal(found.status, state);
    assert.match(found.problem ?? '', problem);
    return true;
  });
  const { stdout } = await cli('shop', 'domains');
  const line = stdout.split('\n').find((one) => one.startsWith(`${host}\t${state}\tproduction\t`));
  assert.match(line ?? stdout, problem);
}
const proof = async (project: keyof typeof folders, host: string): Promise<readonly [string, string]> => {
  const { stdout } = await cli(project, 'domains', 'add', host);
  const [, name, value] = /create this DNS record: TXT (\S+) (\S+)/.exec(stdout)!;
  return [name!, value!];
};
const proved = async (host: string): Promise<void> => {
  const [name, value] = await proof('shop', host);
  records.set(name, { txt: [value] });
  await cli('shop', 'domains', 'verify', host);
};

before(async () => {
  authority = await startAuthority();
  dns = await startDnsServer((name) => records.get(name) ?? 'unknown');
  files = mkdtempSync(path.join(tmpdir(), 'platform-added-domain-'));
  platform = await startWholePlatform({
    ...authority.environment,
    PUBLIC_HTTPS: 'on',
    HANDLER_DOMAIN: 'apps.test',
    API_DNS_SERVERS: dns.address,
    // Longer than an answer of the authority holds.
    EDGE_RETRY_MS: '6000',
  });
  for (const [name, text] of [
    ['shop', 'hello'],
    ['rival', 'goodbye'],
  ] as const) {
    folders[name] = path.join(platform.folder, name);
    mkdirSync(path.join(folders[name], 'src'), { recursive: true });
    writeFileSync(path.join(folders[name], 'platform.yaml'), 'kind: worker\n');
    writeFileSync(
      path.join(folders[name], 'src/index.ts'),
      `export default { fetch: () => new Response('${text}') };\n`,
    );
    await cli(name, 'deploy', '--prod');
  }
});
after(async () => {
  await platform?.close();
  dns?.close();
  await authority?.close();
  rmSync(files, { recursive: true, force: true });
});

test('a domain that is added and proved is served by https with a certificate of the authority', async () => {
  const [name, value] = await proof('shop', 'www.shop.test');
  assert.equal(name, '_platform.www.shop.test');
  assert.match(await said('shop', 'domains', 'verify', 'www.shop.test'), /There is no TXT record _platform\.www/);
  await assert.rejects(handshake('www.shop.test'), /alert|disconnected|ECONNRESET/, 'before its proof');
  records.set(name, { txt: ['v=spf1 -all', value] });
  const { stdout } = await cli('shop', 'domains', 'verify', 'www.shop.test');
  assert.match(stdout, /Verified www\.shop\.test/);
  await listed('www.shop.test', 'active', /(?:)/);
  const { status, text } = await get('www.shop.test', '/', { ca: authority.root() });
  assert.deepEqual([status, text], [200, 'hello']);
});

test('a domain that leads here without being added gets no certificate', async () => {
  records.set('stranger.test', { cname: 'shop.apps.test' });
  await assert.rejects(handshake('stranger.test'), /alert|disconnected|ECONNRESET/);
});

test('a domain that another project has proved is refused to whoever proves it besides, and goes on', async () => {
  const [name, value] = await proof('rival', 'www.shop.test');
  const before = records.get(name) as { txt: string[] };
  records.set(name, { txt: [...before.txt, value] });
  assert.match(await said('rival', 'domains', 'verify', 'www.shop.test'), /Another project has verified this domain/);
  assert.equal((await get('www.shop.test', '/', { ca: authority.root() })).text, 'hello');
});

test('a CNAME that leads in a circle is named', async () => {
  await cli('shop', 'domains', 'add', 'circle.shop.test');
  records.set('circle.shop.test', { cname: 'round.shop.test' }).set('round.shop.test', { cname: 'circle.shop.test' });
  assert.match(
    await said('shop', 'domains', 'verify', 'circle.shop.test'),
    /not verified yet: .*lead in a circle: circle\.shop\.test/,
  );
});

test('an authority that is away, one that limits us, and a wrong clock are told where domains are listed', async () => {
  await authority.stop();
  await proved('away.shop.test');
  await listed('away.shop.test', 'error', /The authority does not answer: ECONNREFUSED/);
  const words = 'too many certificates already issued for "shop.test"';
  const limiting = await startLimitingAuthority({ ...authority.identity(), words, port: AUTHORITY_PORT });
  try {
    await proved('limited.shop.test');
    await listed('limited.shop.test', 'error', /rateLimited.*too many certificates already issued/);
  } finally {
    limiting.close();
  }
  const [key, cert] = selfSigned('acme.test', files, 'future', [
    '-not_before',
    '20980101000000Z',
    '-not_after',
    '20990101000000Z',
  ]);
  const early = await startLimitingAuthority({ key, cert, words: 'nobody comes here', port: AUTHORITY_PORT });
  try {
    await proved('clock.shop.test');
    await listed('clock.shop.test', 'error', /the clock of this machine, or of the authority, is wrong/);
  } finally {
    early.close();
  }
  assert.equal((await get('www.shop.test', '/', { ca: authority.root() })).text, 'hello', 'what was there goes on');
});
