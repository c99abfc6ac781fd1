// The deployments of a project.
import { Page } from '../../components/page.tsx';

export function DeploymentsPage() {
  return <Page title="Deployments">…</Page>;
}
