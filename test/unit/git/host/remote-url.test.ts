// Which URLs and branches git is given.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { isBranchName, parseRemoteUrl, resolveRemote } from '#git/host/remote-url.ts';
import { createSeededRandom } from '#test/setup/seeded-random.ts';

test('https and ssh URLs are taken, in one spelling and without their credentials', () => {
  const urls = [
    'https://git.example/team/shop.git',
    'https://Git.Example:8443/team/shop',
    'https://ada:s%20ecret@git.example/team/shop.git',
    'ssh://git@git.example:2222/team/shop.git',
    'git@git.example:team/shop.git',
    'https://[2001:4860::1]/shop.git',
  ];
  assert.deepEqual(
    urls.map((url) => {
      const { url: plain, host, port, credentials } = parseRemoteUrl(url);
      return [plain, host, port, credentials];
    }),
    [
      ['https://git.example/team/shop.git', 'git.example', 443, null],
      ['https://git.example:8443/team/shop', 'git.example', 8443, null],
      ['https://git.example/team/shop.git', 'git.example', 443, { username: 'ada', password: 's ecret' }],
      ['ssh://git@git.example:2222/team/shop.git', 'git.example', 2222, null],
      ['ssh://git@git.example/team/shop.git', 'git.example', 22, null],
      ['https://[2001:4860::1]/shop.git', '2001:4860::1', 443, null],
    ],
  );
});

test('what could run a program, read a file or pass for an option is refused', () => {
  const refused = [
    'ext::sh -c whoami',
    'ext::sh',
    'file:///etc',
    '/etc/passwd',
    '../shop.git',
    'http://git.example/shop.git',
    'git://git.example/shop.git',
    'ftp://git.example/shop.git',
    '--upload-pack=touch',
    '-oProxyCommand=x',
    'ssh://-oProxyCommand=x/shop',
    'ssh://-x@git.example/shop',
    'ssh://git.example/shop',
    'ssh://git:secret@git.example/shop',
    'git@-x:shop',
    'git@git.example:/',
    'https://git.example',
    'https://git.example/',
    'https://git.example/shop?x=1',
    'https://git.example/shop#x',
    'https://git.example/sh op',
    'https://git.example/shop\n',
    'https://%00@git.example/\0',
    'https:git.example/shop',
    'https://%zz@git.example/shop',
    'ssh://git@git.example$(x)/shop',
    'ssh://git@git%2eexample/shop',
    `https://git.example/${'a'.repeat(2048)}`,
    '',
  ];
  for (const url of refused) assert.throws(() => parseRemoteUrl(url), { kind: 'remote_refused' }, url);
});

test('a host with an address that is not public is refused, under every name', async () => {
  const at = (...addresses: string[]) => ({
    find: () => Promise.resolve(addresses.map((address) => ({ address }))),
  });
  const check = (host: string, { find }: ReturnType<typeof at>, allowed: readonly string[] = []) =>
    resolveRemote({ host }, allowed, find);
  assert.deepEqual(await check('git.example', at('1.1.1.1', '2606:4700::1')), ['1.1.1.1', '2606:4700::1']);
  for (const address of ['127.0.0.1', '10.0.0.8', '169.254.169.254', '::1', '::ffff:127.0.0.1', 'fd00::1', '0.0.0.0'])
    for (const found of [at(address), at('1.1.1.1', address)])
      await assert.rejects(check('git.example', found), /not public.*GIT_REMOTE_PRIVATE_HOSTS/);
  for (const literal of ['127.0.0.1', '169.254.169.254', '::1'])
    await assert.rejects(check(literal, at('1.1.1.1')), { kind: 'remote_refused' });
  await assert.rejects(check('git.example', at()), /has no address/);
  const unknown = { find: () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' })) };
  await assert.rejects(check('gone.example', unknown), /gone.example cannot be resolved: ENOTFOUND/);
  assert.deepEqual(await check('git.lan', at('10.0.0.8'), ['git.lan']), ['10.0.0.8']);
  await assert.rejects(check('other.lan', at('10.0.0.8'), ['git.lan']), { kind: 'remote_refused' });
});

test('names of branches are those that git takes, and never an option', () => {
  for (const name of ['main', 'feature/login', 'a.b', 'é', 'v1', '@a', 'a-', 'x'.repeat(255)])
    assert.equal(isBranchName(name), true, name);
  for (const name of [
    '',
    '@',
    '-x',
    '/a',
    'a/',
    'a//b',
    'a..b',
    'a b',
    'a~b',
    'a^',
    'a:b',
    'a?',
    'a*',
    'a[',
    'a\\',
    'a@{1}',
  ])
    assert.equal(isBranchName(name), false, name);
  for (const name of ['.a', 'a/.b', 'a.lock', 'a.lock/b', 'a.', 'a\x7f', 'a\n', 'x'.repeat(256)])
    assert.equal(isBranchName(name), false, name);
  const random = createSeededRandom();
  const pieces = ['a', '/', '.', '..', '-', '@', '{', '.lock', '~', 'é', '\x01', ' ', 'HEAD'];
  const names = Array.from({ length: 300 }, () => random.text(pieces, 5)).filter((name) => !/[\0\n]/.test(name));
  // One process: git says of each what it thinks.
  const script = 'while IFS= read -r name; do git check-ref-format "refs/heads/$name" && echo y || echo n; done';
  const { stdout } = spawnSync('sh', ['-c', script], { input: `${names.join('\n')}\n`, encoding: 'utf8' });
  const ofGit = stdout.trim().split('\n');
  assert.equal(ofGit.length, names.length);
  for (const [index, name] of names.entries()) {
    // Git refuses these two as branches only, which it does in `git branch`.
    const isOption = name.startsWith('-') || name === '@';
    assert.equal(isBranchName(name), ofGit[index] === 'y' && !isOption, `${JSON.stringify(name)}, seed ${random.seed}`);
  }
});
