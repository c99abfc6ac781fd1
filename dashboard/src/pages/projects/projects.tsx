// The projects of the account.
import { Page } from '../../components/page.tsx';

export function ProjectsPage() {
  return <Page title="Projects">…</Page>;
}
