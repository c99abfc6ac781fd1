// A secret that is shown this once: copied, then gone.
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { Notice } from '../../components/notice.tsx';
import styles from './settings.module.css';

interface SecretProps {
  readonly title: string;
  readonly value: string;
  /** What it is for. */
  readonly hint?: string;
  readonly onClose: () => void;
}

export function Secret({ title, value, hint, onClose }: SecretProps) {
  return (
    <Notice tone="warning" title={`${title}: it is shown this once`}>
      <div className={styles.secret}>
        {hint !== undefined && <p>{hint}</p>}
        <CodeBlock code={value} wraps />
        <div>
          <Button size="small" onClick={onClose}>
            I have copied it
          </Button>
        </div>
      </div>
    </Notice>
  );
}
