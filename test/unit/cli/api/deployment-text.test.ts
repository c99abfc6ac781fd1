// What the terminal shows of deployments: a guarded release with its steps and figures, and what follows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeDeployment, guardedText, stepsText } from '#cli/api/deployment-text.ts';
import type { Deployment, Project } from '#cli/api/records.ts';
import { recordingShell } from '../recording-shell.ts';

const project: Project = {
  id: 'prj_1',
  name: 'shop',
  organizationId: 'org_1',
  description: '',
  kind: null,
  defaultBranch: 'main',
  productionDeploymentId: 'd000000000001',
  repositoryId: null,
  createdAt: '2026-11-29T12:00:00.000Z',
};

const deployment = (guardedRelease: Deployment['guardedRelease']): Deployment => ({
  id: 'd000000000002',
  projectId: 'prj_1',
  status: 'success',
  reason: null,
  errorMessage: null,
  target: 'production',
  branch: 'main',
  commitSha: null,
  commitMessage: null,
  author: null,
  pullRequest: null,
  url: 'http://shop--d000000000002.localhost:4001',
  aliasUrls: [],
  createdAt: '2026-11-29T12:00:00.000Z',
  readyAt: null,
  ...(guardedRelease !== undefined && { guardedRelease }),
});
const settings = { steps: [5, 25, 100], minutes: 5 };

test('a guarded release that runs shows its share, its steps and what follows', () => {
  const steps = [
    { percent: 5, verdict: 'Within its limits: 0 % of 120 requests failed (0 % before)' },
    { percent: 25, verdict: null },
  ];
  const running = deployment({ state: 'running', percent: 25, settings, steps, reason: null });
  assert.equal(guardedText(running), '25 % of visitors');
  assert.equal(stepsText(running), '100 %; 5 min each');
  const shell = recordingShell('/', {});
  describeDeployment(shell, project, running);
  assert.deepEqual(shell.output, [
    'd000000000002 of shop',
    '  status   success',
    '  release  25 % of visitors, then 100 %; 5 min each',
    '      5 %  Within its limits: 0 % of 120 requests failed (0 % before)',
    '     25 %  not judged yet',
    '  branch   main',
    '  created  2026-11-29T12:00:00.000Z',
    '  http://shop--d000000000002.localhost:4001',
  ]);
});

test('a guarded release that was rolled back shows why', () => {
  const reason = 'Errors: 3.3 % of 300 requests failed, 0 % of 5700 before (limit: 1% more)';
  const steps = [{ percent: 5, verdict: reason }];
  const ended = deployment({ state: 'rolled_back', percent: 0, settings, steps, reason });
  assert.equal(guardedText(ended), 'rolled back');
  const shell = recordingShell('/', {});
  describeDeployment(shell, project, ended);
  assert.deepEqual(shell.output.slice(2, 4), [`  release  rolled back: ${reason}`, `      5 %  ${reason}`]);
});

test('a deployment without a guarded release, or of an older platform, shows none', () => {
  for (const one of [deployment(null), deployment(undefined)]) {
    assert.equal(guardedText(one), null);
    const shell = recordingShell('/', {});
    describeDeployment(shell, project, one);
    assert.equal(shell.output[2], '  branch   main');
  }
});
