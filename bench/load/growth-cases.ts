/** All curves, which `npm run bench:growth` takes: cases of which the variants are points. */
import type { Case } from '../case.ts';
import { growthClients } from './growth-clients.ts';
import { growthDatabase } from './growth-database.ts';
import { growthDocument } from './growth-document.ts';
import { growthJournal } from './growth-journal.ts';
import { growthRooms } from './growth-rooms.ts';

export const GROWTH_CASES: readonly Case[] = [growthRooms, growthClients, growthDocument, growthJournal, growthDatabase];
