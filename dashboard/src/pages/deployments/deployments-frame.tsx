// Layout of the lists of deployments and previews: project and tabs.
import type { ReactNode } from 'react';
import { Page } from '../../components/page.tsx';
import { TabLink, TabLinks } from '../../components/tabs.tsx';
import type { Project } from '../../queries/account.ts';
import { WithProject } from '../../shell/with-project.tsx';

interface DeploymentsFrameProps {
  readonly title: string;
  readonly children: (project: Project) => ReactNode;
}

export function DeploymentsFrame({ title, children }: DeploymentsFrameProps) {
  return (
    <Page title={title}>
      <WithProject>
        {(project) => (
          <>
            <TabLinks label="Deployments">
              <TabLink
                to="/projects/$project/deployments"
                params={{ project: project.name }}
                search={{}}
                activeOptions={{ exact: true, includeSearch: true }}
              >
                All
              </TabLink>
              <TabLink
                to="/projects/$project/deployments"
                params={{ project: project.name }}
                search={{ target: 'production' }}
                activeOptions={{ includeSearch: true }}
              >
                Production
              </TabLink>
              <TabLink to="/projects/$project/previews" params={{ project: project.name }}>
                Previews
              </TabLink>
            </TabLinks>
            {children(project)}
          </>
        )}
      </WithProject>
    </Page>
  );
}
