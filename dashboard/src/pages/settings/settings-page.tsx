// The frame of the settings of a project: its tabs, and the project once it is read.
import type { ReactNode } from 'react';
import { ErrorState } from '../../components/notice.tsx';
import { Page } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { TabLink, TabLinks } from '../../components/tabs.tsx';
import type { Project } from '../../queries/account.ts';
import { useProject } from '../../shell/use-place.ts';

interface SettingsPageProps {
  /** Of the tab. */
  readonly title: string;
  readonly actions?: ReactNode;
  readonly children: (project: Project) => ReactNode;
}

const tabs = [
  ['General', '/projects/$project/settings'],
  ['Variables', '/projects/$project/settings/variables'],
  ['Domains', '/projects/$project/settings/domains'],
  ['Git', '/projects/$project/settings/git'],
  ['Deploy hooks', '/projects/$project/settings/hooks'],
] as const;

export function SettingsPage({ title, actions, children }: SettingsPageProps) {
  const { data: project, error, refetch } = useProject();
  return (
    <Page title={`${title}, settings`} heading="Settings" actions={actions}>
      <TabLinks label="Settings">
        {tabs.map(([name, to]) => (
          <TabLink key={to} to={to} from="/projects/$project" activeOptions={{ exact: true }}>
            {name}
          </TabLink>
        ))}
      </TabLinks>
      {project === undefined ? (
        error === null ? (
          <SkeletonRows />
        ) : (
          <ErrorState title="The project could not be read" error={error} onRetry={() => void refetch()} />
        )
      ) : (
        children(project)
      )}
    </Page>
  );
}
