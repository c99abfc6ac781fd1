import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ofPreview } from '#core/preview.ts';
import { nameOfRoute, routeText } from '#dashboard/src/queries/route-text.ts';

test('the queue of a preview is named with its branch, in logs without', () => {
  assert.deepEqual(
    ['mail', ofPreview('mail', 'login'), '/a/*'].map((route) => [routeText(route), nameOfRoute(route)]),
    [
      ['mail', 'mail'],
      ['mail (preview login)', 'mail'],
      ['/a/*', '/a/*'],
    ],
  );
});
