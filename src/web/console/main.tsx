/** The console: what operators look at rooms and workers with. */
import 'uplot/dist/uPlot.min.css';
import '../shared/base.css';
import './console.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Console } from './console.tsx';

createRoot(document.querySelector('#root')!).render(
  <StrictMode>
    <Console />
  </StrictMode>,
);
