// Actions on a deployment, with confirmation. Before a promotion or rollback, the API previews the changes.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { api, dataOf } from '../../api/client.ts';
import { ApiFailure, wordsOf } from '../../api/failure.ts';
import { Confirm } from '../../components/confirm.tsx';
import { Checkbox } from '../../components/field.tsx';
import { ErrorState, Notice } from '../../components/notice.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { noteDone } from '../../components/toast.ts';
import { hasEnded, isGuarded, promotionQuery, titleOf, type Deployment } from '../../queries/deployments.ts';
import { stepsSentence } from './guarded-release.tsx';
import { PromotionChanges, promotionSentence } from './promotion-changes.tsx';

export type DeploymentAction =
  | 'promote'
  | 'promote-now'
  | 'end'
  | 'redeploy'
  | 'rebuild'
  | 'clear'
  | 'cancel'
  | 'approve';

interface Offered {
  readonly action: DeploymentAction;
  readonly title: string;
}

/** Actions available for a deployment. */
export function actionsOf(deployment: Deployment): readonly Offered[] {
  const { status, isLive, isFork, url, source, reason, readyAt, target } = deployment;
  const offered: Offered[] = [];
  if (status === 'queued' && reason === 'approval_required') offered.push({ action: 'approve', title: 'Approve' });
  if (!hasEnded(deployment)) return [...offered, { action: 'cancel', title: 'Cancel' }];
  if (isGuarded(deployment))
    offered.push({ action: 'promote-now', title: 'Promote now' }, { action: 'end', title: 'Roll back' });
  else if (status === 'success' && url !== null && !isLive && !isFork) {
    const guarded = deployment.guardedRelease?.state ?? 'promoted';
    const wasLive = target === 'production' && readyAt !== null && guarded === 'promoted';
    offered.push({ action: 'promote', title: wasLive ? 'Roll back' : 'Promote to production' });
  }
  if (status === 'success' && url !== null) offered.push({ action: 'redeploy', title: 'Redeploy' });
  if (!isFork && source !== 'upload')
    offered.push({ action: 'rebuild', title: 'Rebuild' }, { action: 'clear', title: 'Clear build cache' });
  return offered;
}

interface DialogProps {
  readonly action: DeploymentAction;
  readonly deployment: Deployment;
  readonly onClose: () => void;
}

/** The dialog that confirms an action. @returns the dialog, and a function that opens it. */
export function useDeploymentActions(): {
  readonly act: (action: DeploymentAction, deployment: Deployment) => void;
  readonly dialog: ReactNode;
} {
  const [asked, setAsked] = useState<Omit<DialogProps, 'onClose'> | null>(null);
  const onClose = (): void => setAsked(null);
  return {
    act: (action, deployment) => setAsked({ action, deployment }),
    dialog:
      asked === null ? null : asked.action === 'promote' ? (
        <PromoteDialog {...asked} onClose={onClose} />
      ) : (
        <PlainDialog {...asked} onClose={onClose} />
      ),
  };
}

const plain: Readonly<
  Record<Exclude<DeploymentAction, 'promote'>, { title: string; sentence: string; verb: string; done: string }>
> = {
  'promote-now': {
    title: 'Promote now?',
    sentence: 'All visitors get this deployment at once. The guarded release ends.',
    verb: 'Promote now',
    done: 'Promoted to production',
  },
  end: {
    title: 'Roll back?',
    sentence: 'All visitors return to the live deployment. The guarded release ends.',
    verb: 'Roll back',
    done: 'Rolled back',
  },
  redeploy: {
    title: 'Redeploy?',
    sentence: 'Creates a deployment from the same artifact with the current variables, without a build.',
    verb: 'Redeploy',
    done: 'Redeployment started',
  },
  rebuild: {
    title: 'Rebuild?',
    sentence: 'Builds the same commit as a new deployment of its branch.',
    verb: 'Rebuild',
    done: 'Build queued',
  },
  clear: {
    title: 'Clear the build cache?',
    sentence: 'Deletes the build cache and the build sandbox of this branch, then rebuilds the commit.',
    verb: 'Clear and rebuild',
    done: 'Build queued without cache',
  },
  cancel: {
    title: 'Cancel this deployment?',
    sentence: 'Stops the deployment. The live deployment does not change.',
    verb: 'Cancel deployment',
    done: 'Deployment is being canceled',
  },
  approve: {
    title: 'Approve this deployment?',
    sentence:
      'Builds and runs code from outside your organization, as a preview without your variables and production data.',
    verb: 'Approve and build',
    done: 'Approved. Build queued',
  },
};

function PlainDialog({ action, deployment, onClose }: DialogProps) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { title, sentence, verb, done } = plain[action as keyof typeof plain];
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => send(action, deployment),
    onSuccess: (next) => {
      noteDone(done);
      onClose();
      void queries.invalidateQueries({ queryKey: ['deployments'] });
      void queries.invalidateQueries({ queryKey: ['deployment', deployment.id] });
      if (next !== null) void navigate({ to: '/deployments/$deployment', params: { deployment: next } });
    },
  });
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={title}
      action={verb}
      onConfirm={() => mutate()}
      isPending={isPending}
      isDanger={action === 'cancel'}
      error={error === null ? null : wordsOf(error)}
    >
      {sentence}
    </Confirm>
  );
}

/** @returns the ID of the new deployment, if any. */
async function send(action: DeploymentAction, { id, projectId }: Deployment): Promise<string | null> {
  const params = { id };
  switch (action) {
    case 'promote-now':
      await dataOf(api.post('/deployments/:id/promote', { params, body: { now: true } }));
      return null;
    case 'end':
      await dataOf(api.post('/projects/:id/rollback', { params: { id: projectId }, body: {} }));
      return null;
    case 'redeploy':
      return (await dataOf(api.post('/deployments/:id/redeploy', { params }))).deploymentId;
    case 'rebuild':
      return (await dataOf(api.post('/deployments/:id/retry', { params }))).newDeploymentId;
    case 'clear':
      return (await dataOf(api.post('/deployments/:id/retry', { params, query: { clearCache: true } })))
        .newDeploymentId;
    case 'approve':
      await dataOf(api.post('/deployments/:id/approve', { params }));
      return null;
    default:
      await dataOf(api.post('/deployments/:id/cancel', { params }));
      return null;
  }
}

function PromoteDialog({ deployment, onClose }: DialogProps) {
  const queries = useQueryClient();
  const { data: preview, error: unread, refetch } = useQuery({ ...promotionQuery(deployment.id), staleTime: 0 });
  const isRollback = preview?.way === 'rollback';
  const release = preview?.release ?? null;
  const [isNow, setNow] = useState(false);
  const { mutate, isPending, error } = useMutation({
    mutationFn: async (confirm: boolean) => {
      const { id, projectId } = deployment;
      if (isRollback)
        return dataOf(
          api.post('/projects/:id/rollback', { params: { id: projectId }, body: { deploymentId: id, confirm } }),
        );
      return dataOf(api.post('/deployments/:id/promote', { params: { id }, body: { confirm, now: isNow } }));
    },
    onSuccess: ({ warnings, guarded }) => {
      const done = guarded ? 'Guarded release started' : 'Promoted to production';
      noteDone(isRollback ? 'Rolled back' : done, warnings.join(' '));
      onClose();
      void queries.invalidateQueries();
    },
  });
  const isRisky = (preview?.risky.length ?? 0) > 0;
  const needsConfirm = error instanceof ApiFailure && error.code === 'confirmation_needed';
  const verb = isRollback ? 'Roll back' : 'Promote to production';
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={isRollback ? `Roll back to “${titleOf(deployment)}”?` : `Promote “${titleOf(deployment)}”?`}
      action={isRisky || needsConfirm ? `${verb} anyway` : verb}
      onConfirm={() => preview !== undefined && preview.objection === null && mutate(isRisky || needsConfirm)}
      isPending={isPending}
      isDanger={isRisky || needsConfirm}
      error={error === null ? null : wordsOf(error)}
    >
      {preview === undefined ? (
        unread === null ? (
          <Skeleton height={60} />
        ) : (
          <ErrorState title="Could not load the changes" error={unread} onRetry={() => void refetch()} />
        )
      ) : preview.objection !== null ? (
        <Notice tone="warning" title="Cannot be promoted">
          <p>{preview.objection}</p>
        </Notice>
      ) : (
        <>
          {release !== null && !isNow && <p>{stepsSentence(release)}</p>}
          <p>{promotionSentence(preview)}</p>
          {release !== null && (
            <Checkbox
              label="Send all visitors to the deployment at once"
              checked={isNow}
              onChange={(event) => setNow(event.target.checked)}
            />
          )}
          <PromotionChanges preview={preview} />
        </>
      )}
    </Confirm>
  );
}
