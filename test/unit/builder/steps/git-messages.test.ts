import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkNames } from '#builder/steps/checkout.ts';
import { fetchFailure } from '#builder/steps/git-messages.ts';

const place = { branch: 'main', commit: null, bytesMax: 1000 };
const failureOf = (stderr: string, commit: string | null = null) =>
  fetchFailure({ code: 128, signal: null, stdout: '', stderr }, { ...place, commit });

for (const [stderr, reason, message] of [
  ["fatal: couldn't find remote ref refs/heads/main\n", 'repository_empty', /no branch main/],
  ["fatal: Authentication failed for 'https://git.example/a/b/'\n", 'repository_unavailable', /refuses access/],
  ["fatal: repository 'https://git.example/a/b/' not found\n", 'repository_unavailable', /does not exist any more/],
  [
    'ssh: connect to host git.example port 22: Connection refused\nfatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\n',
    'repository_unavailable',
    /ssh: connect to host git\.example port 22: Connection refused$/,
  ],
  [
    'Host key verification failed.\nfatal: Could not read from remote repository.\n',
    'repository_unavailable',
    /Host key/,
  ],
  ['fatal: write error: File too large\n', 'source_too_large', /1000 bytes/],
  ['error: object 12: gitmodulesUrl: disallowed\nfatal: fsck error in packed object\n', 'source_unsafe', /refuses/],
  ['', 'repository_unavailable', /Git gave no reason/],
] as const)
  test(`what Git says is told: ${stderr.split('\n')[0] || 'nothing'}`, () => {
    const failure = failureOf(stderr);
    assert.equal(failure.reason, reason);
    assert.match(failure.message, message);
    assert.doesNotMatch(failure.message, /https:\/\//);
  });

test('a commit that is gone is told with the force push that may have taken it', () => {
  const failure = failureOf(`fatal: remote error: upload-pack: not our ref ${'a'.repeat(40)}\n`, 'a'.repeat(40));
  assert.equal(failure.reason, 'commit_not_found');
});

test('https and ssh URLs are taken, and names of branches as Git has them', () => {
  for (const url of ['https://git.example/a/b.git', 'ssh://git@git.example:2222/a/b', 'https://git.example:8443/x'])
    checkNames({ branch: 'feature/ü-1', commit: 'a'.repeat(40), source: { url } });
  for (const url of [
    'http://git.example/x',
    'git@git.example:a/b',
    'git://git.example/x',
    'ssh://-x/a',
    '/etc',
    'https:',
  ])
    assert.throws(() => checkNames({ branch: 'main', commit: null, source: { url } }), { reason: 'clone_failed' }, url);
  for (const branch of [
    '',
    '-x',
    'a b',
    'a..b',
    'a:b',
    'a*',
    '/a',
    'a/',
    'a.lock',
    'a@{1}',
    'a\nb',
    '.a',
    'pull:',
    'pull:0',
    'pull:8/x',
    'pull:-1',
  ])
    assert.throws(
      () => checkNames({ branch, commit: null, source: { folder: '/x' } }),
      { reason: 'clone_failed' },
      branch,
    );
});
