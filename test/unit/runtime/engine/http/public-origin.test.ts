// Under which origin browsers reach an app.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publicOrigin } from '#runtime/engine/http/public-origin.ts';

test('the port that the operator says takes the place of what the client wrote', () => {
  assert.equal(publicOrigin('https', 8443, 'shop.example.org:1'), 'https://shop.example.org:8443');
  assert.equal(publicOrigin('https', 8443, 'shop.example.org'), 'https://shop.example.org:8443');
  assert.equal(publicOrigin('https', 443, 'shop.example.org:4001'), 'https://shop.example.org');
  assert.equal(publicOrigin('http', 80, 'shop.example.org:'), 'http://shop.example.org');
  assert.equal(publicOrigin('http', 443, 'shop.example.org'), 'http://shop.example.org:443');
});

test('without one the request says it', () => {
  assert.equal(publicOrigin('http', null, 'shop.localhost:4001'), 'http://shop.localhost:4001');
});
