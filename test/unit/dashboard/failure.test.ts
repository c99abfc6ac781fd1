// The title of the dashboard's notice for a record that is not there, or could not be loaded.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiFailure, unloadedTitle } from '#dashboard/src/api/failure.ts';

test('a record that does not exist is not found, in production and in dev', () => {
  for (const code of ['not_found', 'dashboard_not_found'])
    assert.equal(unloadedTitle('deployment', new ApiFailure(404, code, 'No such thing', null)), 'Deployment not found');
});

test('any other failure says that the record could not be loaded', () => {
  for (const error of [
    new ApiFailure(403, 'forbidden', 'Not allowed', null),
    // Of a proxy: the API itself names a code.
    new ApiFailure(404, 'status_404', 'The API returned status 404', null),
    new ApiFailure(0, 'unreachable', 'The platform does not respond', null),
    new Error('broken'),
  ])
    assert.equal(unloadedTitle('deployment', error), 'Could not load the deployment');
});
