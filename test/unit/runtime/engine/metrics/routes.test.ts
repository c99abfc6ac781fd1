// The route of a path: names stay, ids become `*`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { routeOf } from '#runtime/engine/metrics/routes.ts';

test('a route is the first two segments of a path', () => {
  for (const [path, route] of [
    ['/', '/'],
    ['/about', '/about'],
    ['/about/', '/about'],
    ['//about', '/about'],
    ['/api/users', '/api/users'],
    ['/api/users/7', '/api/users/*'],
    ['/api/users/seven/letters', '/api/users/*'],
    ['/posts/8f14e45f/edit', '/posts/*'],
    ['/7/8', '/*/*'],
  ] as const)
    assert.equal(routeOf(path), route, path);
});

test('names with digits are no parameters', () => {
  for (const path of [
    '/e500',
    '/v2',
    '/v1beta1',
    '/oauth2/token',
    '/api/v10',
    '/2fa',
    '/404.html',
    '/web3',
    '/i18n/base64url',
    '/top-10',
    '/release-2024',
    '/h264-mp4',
    '/.well-known/security.txt',
    '/deadbeef',
  ])
    assert.equal(routeOf(path), path);
});

test('numbers, UUIDs, hexadecimal numbers and mixed tokens are parameters', () => {
  for (const id of [
    '7',
    '10023',
    '2024-01-05',
    '8f14e45f',
    '6512bd43d9caa6e02c990b0a82652dca',
    '3f2b8c1a-9d4e-4f6a-8b7c-1d2e3f4a5b6c',
    '01ARZ3NDEKTSV4RRFFQ69G5FAV',
    'V1StGXR8_Z5jdHi6B-myT',
    'cjld2cjxh0000qzrmn831i7rd',
    'dQw4w9WgXcQ',
    'usr_8f3kd02m',
    'order-10023',
    'ab%20cd',
    '%00',
    '@jane',
    'x'.repeat(50),
  ])
    assert.equal(routeOf(`/posts/${id}`), '/posts/*', id);
});
