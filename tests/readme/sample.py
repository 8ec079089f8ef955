assert pg
