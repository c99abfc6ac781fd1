import { equal } from 'node:assert/strict';
import { test } from 'node:test';
import { urlCalls } from '#runtime/engine/bindings/url.ts';
import type { CallScope } from '#runtime/engine/bridge/host-calls.ts';

const toAscii = (domain: unknown): unknown => urlCalls['url.domainToAscii']!({ domain }, undefined, {} as CallScope);

test('a domain comes back in its ASCII form', () => {
  equal(toAscii('Ma\u00f1ana.com'), 'xn--maana-pta.com');
  equal(toAscii('XN--maana-pta.com'), 'xn--maana-pta.com');
  equal(toAscii('plain.test'), 'plain.test');
});

test('a label that claims to be encoded and cannot be decoded is refused', () => {
  for (const domain of ['xn--', 'a.b.c.xn--pokxncvks', '10.0.0.xN--pokxncvks', 'xn--a', 'xn--zn7c.com'])
    equal(toAscii(domain), '');
});

test('what would end the host of a URL is refused', () => {
  for (const domain of ['a/b', 'a:1', 'a@b', 'a%41', 'a b']) equal(toAscii(domain), '');
});
