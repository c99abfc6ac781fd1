// The status of a deployment, and where it is deployed to.
import { Badge, State } from '../../components/state.tsx';
import { stateOf, type Deployment } from '../../queries/deployments.ts';

export function DeploymentState({ deployment }: { readonly deployment: Deployment }) {
  const [tone, word] = stateOf(deployment);
  return <State tone={tone}>{word}</State>;
}

/** A badge that says whether a deployment is live, or else whether it is for production or a preview. */
export function TargetBadge({ deployment: { isLive, target, pullRequest } }: { readonly deployment: Deployment }) {
  if (isLive) return <Badge tone="ok">Live</Badge>;
  if (target === 'production') return <Badge>Production</Badge>;
  return <Badge>{pullRequest === null ? 'Preview' : `Preview #${pullRequest}`}</Badge>;
}
