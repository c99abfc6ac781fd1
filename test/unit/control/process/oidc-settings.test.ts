// The variables of the OpenID Connect provider: defaults, and what is refused at start.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oidcSettingsFrom } from '#control/process/oidc-settings.ts';

const enough = {
  OIDC_ISSUER: 'https://login.example.com/realms/acme',
  OIDC_CLIENT_ID: 'platform',
  OIDC_CLIENT_SECRET: 'hunter2',
};

function problemsOf(environment: Record<string, string>): string[] {
  try {
    oidcSettingsFrom(environment);
    return [];
  } catch (error) {
    return (error as Error).message.split('\n');
  }
}

test('without variables there is no provider, and three are enough for one', () => {
  assert.equal(oidcSettingsFrom({ OIDC_ISSUER: ' ' }), null);
  assert.deepEqual(oidcSettingsFrom(enough), {
    issuer: 'https://login.example.com/realms/acme',
    clientId: 'platform',
    clientSecret: 'hunter2',
    name: 'login.example.com',
    scopes: 'openid email profile',
    domains: [],
    groupsClaim: 'groups',
    groups: [],
  });
});

test('names, scopes, domains and groups are taken as lists', () => {
  const settings = oidcSettingsFrom({
    ...enough,
    OIDC_NAME: 'Acme SSO',
    OIDC_SCOPES: 'openid,email  groups',
    OIDC_DOMAINS: 'Example.com, xn--bcher-kva.example',
    OIDC_GROUPS_CLAIM: 'https://acme.example/groups',
    OIDC_GROUPS: '/staff=main:member, team=a=my-org:admin',
  })!;
  assert.deepEqual(
    [settings.name, settings.scopes, settings.groupsClaim],
    ['Acme SSO', 'openid email groups', 'https://acme.example/groups'],
  );
  assert.deepEqual(settings.domains, ['example.com', 'xn--bcher-kva.example']);
  assert.deepEqual(settings.groups, [
    { group: '/staff', organization: 'main', role: 'member' },
    { group: 'team=a', organization: 'my-org', role: 'admin' },
  ]);
});

test('a provider that is set in part, or options without one, are refused', () => {
  assert.deepEqual(problemsOf({ OIDC_CLIENT_SECRET: 'hunter2' }), [
    'OIDC_ISSUER and OIDC_CLIENT_ID are not set, but OIDC_CLIENT_SECRET is: set all of OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, or none',
  ]);
  assert.deepEqual(problemsOf({ OIDC_DOMAINS: 'example.com' }), [
    'OIDC_DOMAINS is set, but OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET are not: set them as well',
  ]);
});

test('an issuer is https, or of this machine', () => {
  for (const issuer of [
    'http://localhost:8080/realms/acme',
    'http://127.0.0.1:9',
    'http://[::1]:9',
    'https://a.example',
  ])
    assert.deepEqual(problemsOf({ ...enough, OIDC_ISSUER: issuer }), [], issuer);
  const refused = [
    'http://login.example.com',
    'http://localhost.evil.example',
    'https://user:hunter2@login.example.com',
    'https://login.example.com?hunter2',
    'ftp://login.example.com',
    'login.example.com',
  ];
  for (const issuer of refused)
    assert.deepEqual(
      problemsOf({ ...enough, OIDC_ISSUER: issuer }),
      ['OIDC_ISSUER must be an https address without a query, such as https://login.example.com (http: for localhost)'],
      issuer,
    );
});

test('each wrong value is named with what to write', () => {
  const wrong = {
    ...enough,
    OIDC_NAME: 'x'.repeat(41),
    OIDC_SCOPES: 'email',
    OIDC_DOMAINS: '@example.com, *.example.com',
    OIDC_GROUPS_CLAIM: 'my groups',
    OIDC_GROUPS: 'staff, staff=main:owner, staff=Main:admin, =main:admin',
  };
  const groups = (text: string): string =>
    `OIDC_GROUPS has "${text}": write group=organization:role, with admin, member, viewer as role`;
  assert.deepEqual(problemsOf(wrong), [
    'OIDC_NAME must have at most 40 characters, on one line',
    'OIDC_GROUPS_CLAIM must be the name of one claim, such as groups',
    'OIDC_SCOPES must be a list of scopes that includes openid, such as openid email profile groups',
    'OIDC_DOMAINS has "@example.com": write domains such as example.com',
    'OIDC_DOMAINS has "*.example.com": write domains such as example.com',
    groups('staff'),
    groups('staff=main:owner'),
    groups('staff=Main:admin'),
    groups('=main:admin'),
  ]);
  const many = Array.from({ length: 201 }, (_, at) => `g${at}=main:viewer`).join();
  assert.deepEqual(problemsOf({ ...enough, OIDC_GROUPS: many }), ['OIDC_GROUPS has 201 entries: at most 200']);
});
