// Layout of the project settings: tabs and project.
import type { ReactNode } from 'react';
import { Page } from '../../components/page.tsx';
import { TabLink, TabLinks } from '../../components/tabs.tsx';
import type { Project } from '../../queries/account.ts';
import { settingsPages } from '../../shell/navigation-entries.ts';
import { useProject } from '../../shell/use-place.ts';
import { WithProject } from '../../shell/with-project.tsx';

interface SettingsPageProps {
  /** Title of the tab. */
  readonly title: string;
  /** Buttons, or a function that returns the buttons for the loaded project. */
  readonly actions?: ReactNode | ((project: Project) => ReactNode);
  readonly children: (project: Project) => ReactNode;
}

export function SettingsPage({ title, actions, children }: SettingsPageProps) {
  const { data: project } = useProject();
  const buttons = typeof actions === 'function' ? project && actions(project) : actions;
  return (
    <Page title={`${title}, settings`} heading="Settings" actions={buttons}>
      <TabLinks label="Settings">
        {settingsPages.map(([name, to]) => (
          <TabLink key={to} to={to} from="/projects/$project" activeOptions={{ exact: true }}>
            {name}
          </TabLink>
        ))}
      </TabLinks>
      <WithProject>{children}</WithProject>
    </Page>
  );
}
